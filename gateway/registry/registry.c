/* See registry.h. The table of sessions and the main thread's loop. Sessions
 * are actors: the registry hands them descriptors and words, and passes their
 * answers on. */
#include "gateway/registry/internal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/state_files.h"
#include "notebooks/journal/log_key.h"

#include <inttypes.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define POOL_TICK_MS 1000
#define END_MS       8000 /* --end-sessions waits so long */
#define SILENT_MS    5000 /* a stop does not wait for who does not answer */
#define THREADS_MS                                                             \
    10000               /* and the end for the sessions' threads, once more    \
                         */
#define WORDS_A_TURN 64 /* of sessions; others want to be heard too */

entry_t *registry_find(registry_t *self, const char *id)
{
    entry_t *entry = zhashx_lookup(self->by_id, id);

    return entry && !entry->is_pooled ? entry : NULL;
}

/* Nobody ever had a session that ended in the pool. */
static void forget_pooled(const registry_t *self, const char *id)
{
    cleanup_free char *folder =
        session_state_folder(self->options->state_dir, id);
    fault_t fault;

    (void) path_remove_tree(folder, &fault);
}

static void entry_destroy(entry_t **entry_p)
{
    entry_t *entry = *entry_p;

    line_destroy(&entry->line);
    free(entry->runtime_folder);
    free(entry->workspace);
    json_decref(entry->environment);
    json_decref(entry->last_shown);
    free(entry->create_token);
    free(entry->hand_token);
    free(entry);
    *entry_p = NULL;
}

void registry_remove(registry_t *self, entry_t *entry)
{
    char id[SESSION_ID_MAX];
    fault_t fault;

    if (entry->before)
        entry->before->next = entry->next;
    else
        self->entries = entry->next;
    if (entry->next)
        entry->next->before = entry->before;
    launcher_forget(entry);
    launcher_release_user(entry);
    pool_leave(entry);
    groups_sweep_soon(self);
    zhashx_delete(self->by_id, entry->id);
    self->entry_count--;
    if (entry->is_gone && !entry->is_forgotten)
        self->gone_count--;
    if (!self->is_stopping || entry->is_gone)
        (void) path_remove_tree(entry->runtime_folder, &fault);
    if (entry->is_pooled)
        forget_pooled(self, entry->id);
    snprintf(id, sizeof id, "%s", entry->id);
    entry_destroy(&entry);
    orders_redo(self, id);
}

static bool all_done(const registry_t *self)
{
    for (const entry_t *at = self->entries; at; at = at->next)
        if (!at->is_drained && !at->is_gone
            && !responses_are_late(at, SILENT_MS))
            return false;
    return true;
}

static int on_lines(zloop_t *loop, zsock_t *socket, void *arg)
{
    registry_t *self = arg;
    void *entry;

    (void) loop;
    (void) socket;
    for (int i = 0; i < WORDS_A_TURN; i++) {
        cleanup_zmsg zmsg_t *message =
            switchboard_receive(self->switchboard, &entry);

        if (!message)
            break;
        reports_take(entry, message);
    }
    return self->is_stopping && all_done(self) ? -1 : 0;
}

void registry_count_alive(registry_t *self, entry_t *entry)
{
    if (entry->is_gone && !entry->is_forgotten)
        self->gone_count--;
    entry->is_gone = entry->is_forgotten = false;
    if (!entry->is_pooled)
        self->alive_count++;
    following_tell(self, entry);
    files_watch(self->files, entry->id, entry->workspace,
                errands_limits(&entry->limits));
}

int registry_add(registry_t *self, session_spec_t **spec_p, entry_t **ret_entry,
                 fault_t *fault)
{
    session_spec_t *spec = *spec_p;
    entry_t *entry = mem_new(sizeof *entry);
    int r;

    entry->registry = self;
    snprintf(entry->id, sizeof entry->id, "%s", spec->id);
    entry->profile = spec->profile;
    entry->limits = spec->limits;
    entry->runtime_folder = mem_text(spec->runtime_folder);
    entry->workspace = mem_text(spec->workspace);
    if (spec->environment)
        entry->environment = json_loads(spec->environment, 0, NULL);
    entry->is_gone = spec->reason[0] != '\0';
    entry->is_external = spec->is_external;
    entry->is_pooled = spec->is_pooled;
    entry->started_ms = clock_monotonic_ms();
    r = line_new(self->switchboard, session_actor, spec, entry, &entry->line,
                 fault);
    if (r < 0) {
        entry_destroy(&entry);
        return r;
    }
    (void) take_ptr(*spec_p);
    entry->next = self->entries;
    if (entry->next)
        entry->next->before = entry;
    self->entries = entry;
    self->entry_count++;
    zhashx_update(self->by_id, entry->id, entry);
    if (entry->is_gone) {
        self->gone_count++;
        entry->gone_ms = entry->started_ms;
    } else {
        registry_count_alive(self, entry);
    }
    *ret_entry = entry;
    return 0;
}

void registry_own(registry_t *self, entry_t *entry, const char *token)
{
    free(entry->hand_token);
    entry->hand_token = mem_text(token);
    entry->is_pooled = false;
    pool_leave(entry);
    self->alive_count++;
    following_tell(self, entry);
}

static int on_stop_look(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    return all_done(arg) ? -1 : 0;
}

static int on_stop_deadline(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    (void) arg;
    return -1;
}

bool registry_stop(registry_t *self, bool ends_sessions)
{
    char grace[24];
    int64_t grace_ms = self->options->drain_grace_ms;

    if (self->is_stopping)
        return false;
    self->is_stopping = true;
    self->ends_all = ends_sessions;
    snprintf(grace, sizeof grace, "%" PRId64, grace_ms);
    for (entry_t *at = self->entries; at; at = at->next) {
        if (at->is_gone)
            continue;
        if (ends_sessions || at->is_external || at->is_pooled)
            line_say(at->line, "DELETE", NULL, NULL);
        else
            line_say(at->line, "DRAIN", grace, NULL);
        responses_asked(at);
        line_say(at->line, "SHOW", "", NULL);
    }
    zloop_timer(self->loop, SILENT_MS, 0, on_stop_look, self);
    zloop_timer(self->loop, (size_t) (ends_sessions ? END_MS : grace_ms + 2000),
                1, on_stop_deadline, self);
    log_notice("stopping, sessions are %s", ends_sessions ? "ended" : "kept");
    return all_done(self);
}

static int on_signal(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    registry_t *self = arg;
    struct signalfd_siginfo signal;

    (void) loop;
    while (read(item->fd, &signal, sizeof signal) == (ssize_t) sizeof signal)
        if (registry_stop(self, false))
            return -1;
    return 0;
}

/* False: its thread does not end. */
static bool end_entry(registry_t *self, entry_t **entry_p, int64_t deadline_ms)
{
    bool is_pooled = (*entry_p)->is_pooled;
    bool is_over = (self->ends_all || is_pooled) && (*entry_p)->is_gone;
    cleanup_free char *folder = mem_text((*entry_p)->runtime_folder);
    cleanup_free char *id = mem_text((*entry_p)->id);
    fault_t fault;

    if (!line_end(&(*entry_p)->line, deadline_ms)) {
        log_error("session=%s has not ended within %d ms and is left as it is; "
                  "the next gateway takes it over",
                  id, THREADS_MS);
        return false;
    }
    entry_destroy(entry_p);
    if (is_over)
        (void) path_remove_tree(folder, &fault);
    if (is_pooled && is_over)
        forget_pooled(self, id);
    return true;
}

bool registry_end(registry_t *self)
{
    int64_t deadline_ms = clock_monotonic_ms() + THREADS_MS;
    bool have_ended = true;

    doors_destroy(&self->doors); /* it speaks to sessions */
    for (const entry_t *at = self->entries; at; at = at->next)
        line_say(at->line, "$TERM", NULL, NULL);
    while (self->entries) {
        entry_t *first = self->entries;

        self->entries = first->next;
        if (!end_entry(self, &first, deadline_ms))
            have_ended = false;
    }
    return have_ended;
}

void registry_destroy(registry_t **self_p)
{
    registry_t *self = *self_p;

    if (!self)
        return;
    (void) registry_end(self);
    creation_clear(self);
    while (self->pending) {
        pending_t *first = self->pending;
        self->pending = first->next;
        pending_destroy(&first);
    }
    for (size_t i = 0; self->warmths && i < self->options->profile_count; i++)
        zygote_destroy(&self->warmths[i].zygote);
    free(self->warmths);
    retention_destroy(&self->retention);
    tally_destroy(&self->tally);
    following_destroy(&self->following);
    zhashx_destroy(&self->by_id);
    users_destroy(&self->users);
    switchboard_destroy(&self->switchboard);
    files_destroy(&self->files);
    blank_destroy(&self->blank);
    scribe_destroy(&self->scribe);
    management_destroy(&self->management);
    zloop_destroy(&self->loop);
    free(self->package_folder);
    cgroups_destroy(&self->cgroups);
    free(self);
    *self_p = NULL;
}

const char *registry_limits_by(const registry_t *self)
{
    cgroup_mode_t mode = cgroups_mode(self->cgroups);

    return mode == CGROUP_NONE ? "watchdog" : cgroup_mode_name(mode);
}

/* What the operator took from the defaults. */
static void note_profiles(registry_t *self)
{
    scribe_note(self->scribe, "gateway_start", "", "ok",
                json_pack("{s:s,s:i,s:s}", "version", HEARTH_VERSION, "pid",
                          (int) getpid(), "state_dir",
                          self->options->state_dir));
    for (size_t i = 0; i < self->options->profile_count; i++) {
        const profile_t *profile = self->options->profiles[i];

        if (!profile->network && !*profile->accept && !*profile->without)
            continue;
        scribe_note(self->scribe, "configuration", "", "weaker",
                    json_pack("{s:s,s:b,s:b,s:b}", "profile", profile->name,
                              "network", profile->network != 0, "accept",
                              *profile->accept != NULL, "without",
                              *profile->without != NULL));
    }
}

static void on_bad_message(void *arg, const char *who, const char *verdict)
{
    registry_t *self = arg;

    scribe_note_by(
        self->scribe, who, "message", "", "dropped",
        json_pack("{s:s,s:s}", "channel", "management", "verdict", verdict));
}

int registry_new(const options_t *options, const char *package_folder,
                 registry_t **ret_registry, fault_t *fault)
{
    cleanup_registry registry_t *self = mem_new(sizeof *self);
    int r;

    self->options = options;
    self->package_folder = mem_text(package_folder);
    self->waiting_end = &self->waiting;
    self->by_id = zhashx_new();
    self->following = following_new();
    self->tally = tally_new();
    self->users = launcher_users(options);
    room_measure(self);
    self->scribe = scribe_new("gateway");
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    note_profiles(self);
    cleanup_free char *key =
        mem_format("%s/" GATEWAY_JOURNAL_KEY_FILE, options->state_dir);
    r = chain_key_read(key, true, self->journal_key, fault);
    if (r < 0)
        return r;
    r = groups_find(self, fault);
    if (r == 0)
        r = launcher_choose_zygote_user(self, fault);
    if (r < 0)
        return r;
    self->warmths = mem_new(options->profile_count * sizeof *self->warmths);
    for (size_t i = 0; i < options->profile_count; i++) {
        self->warmths[i].registry = self;
        self->warmths[i].profile = options->profiles[i];
        launcher_start(&self->warmths[i]);
    }
    self->files = files_new(options->state_dir, options->checkpoint_bytes);
    self->blank =
        blank_new(options->runtime_dir, options->state_dir, self->cgroups);
    self->switchboard = switchboard_new();
    zloop_reader(self->loop, switchboard_socket(self->switchboard), on_lines,
                 self);
    adoption_take_all(self);
    groups_sweep(self);
    /* Bound last: who can connect finds everything there. */
    r = management_new(options->runtime_dir, &self->management, fault);
    if (r < 0)
        return r;
    management_watch(self->management, on_bad_message, self);
    r = doors_new(options, self->journal_key, &self->doors, fault);
    if (r < 0)
        return r;
    zloop_reader(self->loop, doors_socket(self->doors), admission_on_doors,
                 self);
    zloop_reader(self->loop, management_socket(self->management),
                 orders_on_management, self);
    zloop_reader(self->loop, files_socket(self->files), errands_on_files, self);
    groups_sweep_soon(self);
    zloop_timer(self->loop, POOL_TICK_MS, 0, pool_on_tick, self);
    self->retention = retention_new(self);
    *ret_registry = take_ptr(self);
    return 0;
}

int registry_run(registry_t *self, int signal_fd)
{
    zmq_pollitem_t item = {.fd = signal_fd, .events = ZMQ_POLLIN};

    zloop_poller(self->loop, &item, on_signal, self);
    zloop_start(self->loop);
    groups_sweep(self);
    return 0;
}
