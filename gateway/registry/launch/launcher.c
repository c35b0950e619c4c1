/* See launcher.h. The zygote gets the listening sockets, the session's actor
 * connects to them at once. A zygote that ends is started again, later each
 * time that it fails (zygote_slot.h decides). Lives in the main thread. */
#include "gateway/registry/launch/launcher.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway/registry/launch/launch_outcome.h"
#include "gateway/registry/launch/launch_request.h"
#include "gateway/registry/launch/preparation.h"
#include "gateway/registry/launch/zygote_slot.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A profile and its zygote. */
typedef struct {
    launcher_t *launcher;       /* borrowed */
    zygote_slot_t *slot;        /* owned */
    zygote_t *zygote;           /* owned; NULL between two zygotes */
    preparation_t *preparation; /* owned; of its preinstalled packages */
    bool has_reported;          /* the sessions know of a hindrance */
    int timer; /* after which the start is tried again; 0: none */
} profile_state_t;

struct launcher {
    launcher_needs_t needs;    /* borrowed */
    profile_state_t *profiles; /* owned; in the order of the options */
    uint64_t counter;          /* of launches */
};

static profile_state_t *find_state(const launcher_t *self,
                                   const profile_t *profile)
{
    for (size_t i = 0; i < self->needs.options->profile_count; i++)
        if (self->needs.options->profiles[i] == profile)
            return &self->profiles[i];
    return NULL;
}

void launcher_unpark(launcher_t *self, const session_entry_t *entry)
{
    zygote_slot_unpark(find_state(self, entry->profile)->slot, entry);
}

void launcher_forget(launcher_t *self, session_entry_t *entry)
{
    zygote_slot_forget(find_state(self, entry->profile)->slot, entry);
}

static int launch(launcher_t *self, session_entry_t *entry, fault_t *fault)
{
    const launch_request_needs_t needs = {
        .options = self->needs.options,
        .cgroups = self->needs.cgroups,
        .prealloc = self->needs.prealloc,
        .users = self->needs.users,
    };
    profile_state_t *state = find_state(self, entry->profile);
    int r;

    zygote_slot_launch(state->slot, entry, ++self->counter);
    free(entry->launch.preinstalled);
    entry->launch.preinstalled =
        mem_text(preparation_folder(state->preparation));
    free(entry->launch.preinstalled_contents);
    entry->launch.preinstalled_contents =
        mem_text(preparation_contents(state->preparation));
    r = launch_request_send(&needs, state->zygote, entry, self->counter, fault);
    /* Handles the end of a zygote. Its last message is still to be read, and
     * decides over the launches under way. */
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

void launcher_launch(launcher_t *self, session_entry_t *entry)
{
    profile_state_t *state = find_state(self, entry->profile);
    fault_t fault;

    session_entry_note_launch(entry);
    if (!state->zygote && zygote_slot_comes_back(state->slot)
        && !session_table_is_closing(self->needs.table))
        zygote_slot_park(state->slot, entry);
    else if (!state->zygote)
        launch_outcome_without_zygote(self->needs.audit, state->slot, entry);
    else if (launch(self, entry, &fault) < 0)
        launch_outcome_failed(self->needs.audit, state->slot, entry,
                              fault.text);
}

/* Returns why none of the profile's kernels can start, to be freed; "" if they
 * can. */
static char *explain(const profile_state_t *state)
{
    const char *profile = zygote_slot_profile(state->slot)->name;

    if (preparation_is_running(state->preparation))
        return mem_format("the packages of profile %s (packages/preinstall) "
                          "are being made; restart the kernel when they are "
                          "there",
                          profile);
    return preparation_is_vain(state->preparation)
               ? mem_format("profile %s cannot start: %s", profile,
                            zygote_slot_fault(state->slot))
               : mem_text("");
}

void launcher_report(const launcher_t *self, session_entry_t *entry)
{
    cleanup_free char *why = explain(find_state(self, entry->profile));

    if (*why)
        mailbox_line_send(entry->line,
                          session_command_new_text(SESSION_NO_START, 0, why));
}

/* Reports that to all sessions of the profile: a client may ask each for a
 * restart. */
static void report_all(profile_state_t *state)
{
    const session_table_t *table = state->launcher->needs.table;
    cleanup_free char *why = explain(state);
    bool had_reported = state->has_reported;

    state->has_reported = *why;
    if (!*why && !had_reported)
        return;
    for (const session_entry_t *at = session_table_first(table); at;
         at = session_table_next(at))
        if (at->profile == zygote_slot_profile(state->slot))
            mailbox_line_send(
                at->line, session_command_new_text(SESSION_NO_START, 0, why));
}

static int on_zygote(zloop_t *loop, zmq_pollitem_t *item, void *arg);
static int on_retry(zloop_t *loop, int timer, void *arg);

static void end_timer(profile_state_t *state)
{
    if (state->timer)
        zloop_timer_end(state->launcher->needs.loop, state->timer);
    state->timer = 0;
}

static void retry_after(profile_state_t *state, int64_t pause)
{
    end_timer(state);
    state->timer = zloop_timer(state->launcher->needs.loop, (size_t) pause, 1,
                               on_retry, state);
}

static void start_zygote(profile_state_t *state)
{
    launcher_t *self = state->launcher;
    const profile_t *profile = zygote_slot_profile(state->slot);
    zmq_pollitem_t item = {.events = ZMQ_POLLIN};
    session_entry_t *entry;
    fault_t fault;

    if (zygote_new(profile, self->needs.package_folder,
                   preparation_folder(state->preparation),
                   launch_users_of_zygotes(self->needs.users), &state->zygote,
                   &fault)
        < 0) {
        log_error("profile=%s %s", profile->name, fault.text);
        retry_after(state, zygote_slot_on_refused(state->slot, fault.text));
        launch_outcome_give_up(state->launcher->needs.audit, state->slot);
        return;
    }
    zygote_slot_on_started(state->slot, clock_monotonic_ms());
    item.fd = zygote_socket(state->zygote);
    zloop_poller(self->needs.loop, &item, on_zygote, state);
    zloop_poller_set_tolerant(self->needs.loop, &item);
    while ((entry = zygote_slot_take_parked(state->slot)))
        launcher_launch(self, entry);
}

static void fail_prepared(profile_state_t *state, const char *fault,
                          bool is_refused)
{
    cleanup_free char *text = mem_format("packages/preinstall: %s", fault);
    int64_t pause = zygote_slot_on_unprepared(state->slot, is_refused, text);

    log_error("profile=%s cannot start: %s",
              zygote_slot_profile(state->slot)->name, text);
    preparation_on_fault(state->preparation);
    launch_outcome_give_up(state->launcher->needs.audit, state->slot);
    retry_after(state, pause);
}

static void prepare(profile_state_t *state)
{
    const launcher_needs_t *needs = &state->launcher->needs;
    fault_t fault;

    end_timer(state);
    zygote_slot_on_preparing(state->slot);
    if (needs->ops->prepare(needs->arg, zygote_slot_profile(state->slot),
                            &fault)
        < 0)
        fail_prepared(state, fault.text, false);
}

static void start(profile_state_t *state)
{
    if (preparation_start(state->preparation))
        prepare(state);
    else
        start_zygote(state);
    report_all(state);
}

static void end_zygote(profile_state_t *state)
{
    zmq_pollitem_t item = {.fd = zygote_socket(state->zygote)};

    zloop_poller_end(state->launcher->needs.loop, &item);
    zygote_destroy(&state->zygote);
}

/* Replaces a spent zygote. Requests meanwhile wait in the new one's socket. */
static void replace_worn(profile_state_t *state)
{
    if (!zygote_slot_is_worn(state->slot, clock_monotonic_ms()))
        return;
    log_notice("profile=%s zygote replaced sessions=%llu",
               zygote_slot_profile(state->slot)->name,
               (unsigned long long) zygote_slot_forks(state->slot));
    end_zygote(state);
    zygote_slot_on_replaced(state->slot, "");
    start(state);
}

static int on_retry(zloop_t *loop, int timer, void *arg)
{
    profile_state_t *state = arg;

    (void) loop;
    if (timer == state->timer)
        state->timer = 0;
    if (!state->zygote && !preparation_is_running(state->preparation)
        && !session_table_is_closing(state->launcher->needs.table))
        start(state);
    return 0;
}

static void end_zygote_slot(profile_state_t *state, const char *text)
{
    const char *profile = zygote_slot_profile(state->slot)->name;

    log_error("profile=%s zygote gone: %s", profile, text);
    audit_writer_note(state->launcher->needs.audit, "zygote", "", "gone",
                      json_pack("{s:s,s:s}", "profile", profile, "text", text));
    end_zygote(state);
    launch_outcome_settle(state->launcher->needs.audit, state->slot, text);
}

static void on_gone(profile_state_t *state, const zygote_result_t *answer)
{
    int64_t pause =
        zygote_slot_on_gone(state->slot, answer->is_explained, answer->text);

    end_zygote_slot(state, answer->text);
    if (answer->is_explained) /* the reason may be that its folder is gone */
        preparation_forget(state->preparation);
    if (!zygote_slot_comes_back(state->slot))
        launch_outcome_give_up(state->launcher->needs.audit, state->slot);
    retry_after(state, pause);
}

static void on_ready(profile_state_t *state, const zygote_result_t *answer)
{
    const char *profile = zygote_slot_profile(state->slot)->name;

    zygote_slot_on_ready(state->slot, answer->text);
    log_notice("profile=%s zygote ready python=%s", profile,
               zygote_slot_python(state->slot));
    audit_writer_note(state->launcher->needs.audit, "zygote", "", "ready",
                      json_pack("{s:s,s:s,s:i}", "profile", profile, "python",
                                zygote_slot_python(state->slot), "pid",
                                (int) zygote_pid(state->zygote)));
}

static int on_zygote(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    profile_state_t *state = arg;
    zygote_event_t event;
    zygote_result_t answer;

    (void) loop;
    (void) item;
    while (state->zygote
           && zygote_receive(state->zygote, &event, &answer) == 1) {
        switch (event) {
        case ZYGOTE_READY:
            on_ready(state, &answer);
            break;
        case ZYGOTE_LAUNCHED:
            launch_outcome_launched(state->launcher->needs.audit, state->slot,
                                    &answer);
            zygote_slot_on_forked(state->slot);
            replace_worn(state);
            break;
        case ZYGOTE_FAILED:
            launch_outcome_refused(state->launcher->needs.audit, state->slot,
                                   &answer);
            break;
        case ZYGOTE_GONE:
            on_gone(state, &answer);
            break;
        }
    }
    return 0;
}

launcher_t *launcher_new(const launcher_needs_t *needs)
{
    launcher_t *self = mem_new(sizeof *self);
    size_t count = needs->options->profile_count;

    self->needs = *needs;
    self->profiles = mem_new(count * sizeof *self->profiles);
    for (size_t i = 0; i < count; i++) {
        self->profiles[i].launcher = self;
        self->profiles[i].slot = zygote_slot_new(needs->options->profiles[i]);
        self->profiles[i].preparation =
            preparation_new(needs->options->profiles[i]);
    }
    return self;
}

void launcher_start(launcher_t *self)
{
    for (size_t i = 0; i < self->needs.options->profile_count; i++)
        start(&self->profiles[i]);
}

void launcher_destroy(launcher_t **self_p)
{
    launcher_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->needs.options->profile_count; i++) {
        zygote_destroy(&self->profiles[i].zygote);
        zygote_slot_destroy(&self->profiles[i].slot);
        preparation_destroy(&self->profiles[i].preparation);
    }
    free(self->profiles);
    free(self);
    *self_p = NULL;
}

/* Starts a new zygote. Requests from now on wait in its socket, or for its
 * packages, which depend on what is on disk. */
static void renew(profile_state_t *state, const char *why)
{
    launcher_t *self = state->launcher;

    if (!preparation_is_running(state->preparation))
        preparation_forget(state->preparation);
    self->needs.ops->renewed(self->needs.arg, zygote_slot_profile(state->slot));
    zygote_slot_set_changing(state->slot, false);
    if (!state->zygote)
        return;
    zygote_slot_on_replaced(state->slot, why);
    end_zygote_slot(state, why);
    start(state);
}

static const char on_disk[] = "the environment on disk has changed";

void launcher_on_stale(launcher_t *self, const session_entry_t *entry)
{
    profile_state_t *state = find_state(self, entry->profile);

    if (zygote_slot_made(state->slot, entry))
        renew(state, on_disk);
}

/* Returns true if the packages that the zygote shows are there no more. */
static bool has_lost_packages(const profile_state_t *state)
{
    const char *folder = preparation_folder(state->preparation);

    return state->zygote && folder && access(folder, F_OK) < 0;
}

/* Looks for a changed environment. An installation takes a while: the zygote is
 * replaced when the changes have stopped. */
void launcher_look(launcher_t *self)
{
    for (size_t i = 0; i < self->needs.options->profile_count; i++) {
        profile_state_t *state = &self->profiles[i];
        zygote_change_t change =
            state->zygote ? zygote_look(state->zygote) : ZYGOTE_SAME;

        if (has_lost_packages(state))
            renew(state, "the folder of its packages is gone");
        else if (change != ZYGOTE_SAME
                 && !zygote_slot_is_changing(state->slot)) {
            zygote_slot_set_changing(state->slot, true);
            self->needs.ops->renewed(self->needs.arg,
                                     zygote_slot_profile(state->slot));
        } else if (change == ZYGOTE_CHANGED) {
            renew(state, on_disk);
        }
    }
}

void launcher_prepared(launcher_t *self, const profile_t *profile,
                       const char *folder, const char *contents)
{
    profile_state_t *state = find_state(self, profile);

    if (!preparation_is_running(state->preparation)
        || session_table_is_closing(self->needs.table))
        return;
    preparation_on_folder(state->preparation, folder, contents);
    log_notice("profile=%s preinstalled=%s", profile->name, folder);
    start_zygote(state);
    report_all(state);
    self->needs.ops->prepared(self->needs.arg, profile);
}

void launcher_unprepared(launcher_t *self, const profile_t *profile,
                         const char *fault, bool is_refused)
{
    profile_state_t *state = find_state(self, profile);

    if (!preparation_is_running(state->preparation)
        || session_table_is_closing(self->needs.table))
        return;
    fail_prepared(state, fault, is_refused);
    report_all(state);
    self->needs.ops->prepared(self->needs.arg, profile);
}

bool launcher_is_preparing(const launcher_t *self, const profile_t *profile)
{
    return preparation_is_running(find_state(self, profile)->preparation);
}

const char *launcher_lacks_packages(const launcher_t *self,
                                    const profile_t *profile)
{
    const profile_state_t *state = find_state(self, profile);

    return preparation_is_vain(state->preparation)
               ? zygote_slot_fault(state->slot)
               : NULL;
}

const char *launcher_preinstalled(const launcher_t *self,
                                  const profile_t *profile)
{
    return preparation_folder(find_state(self, profile)->preparation);
}

/* Asks for other packages. The old zygote ends: from now on no session is to
 * have what the operator has taken out. */
static void change_packages(profile_state_t *state)
{
    launcher_t *self = state->launcher;
    const profile_t *profile = zygote_slot_profile(state->slot);

    end_timer(state);
    preparation_forget(state->preparation);
    if (state->zygote)
        renew(state, "packages/preinstall has changed");
    else
        start(state);
    if (!preparation_is_running(state->preparation))
        self->needs.ops->prepared(self->needs.arg, profile);
}

void launcher_reload(launcher_t *self)
{
    for (size_t i = 0; i < self->needs.options->profile_count; i++) {
        if (preparation_is_outdated(self->profiles[i].preparation))
            change_packages(&self->profiles[i]);
    }
}

bool launcher_is_ready(const launcher_t *self, const profile_t *profile)
{
    const profile_state_t *state = find_state(self, profile);

    return state->zygote && zygote_is_ready(state->zygote)
           && !zygote_slot_is_changing(state->slot);
}

static json_t *list_preload(const profile_t *profile)
{
    json_t *list = json_array();

    for (char *const *name = profile->preload; name && *name; name++)
        json_array_append_new(list, json_string(*name));
    return list;
}

json_t *launcher_describe(const launcher_t *self, const profile_t *profile)
{
    const profile_state_t *state = find_state(self, profile);
    bool is_failed =
        !state->zygote && !preparation_is_running(state->preparation);
    bool is_ready = state->zygote && zygote_is_ready(state->zygote);
    const char *name = is_failed ? "failed" : is_ready ? "ready" : "warming";
    json_t *model = json_pack("{s:s,s:b,s:s,s:s,s:o,s:s}", "name",
                              profile->name, "notebook_folder",
                              profile->gives_folder, "python", profile->python,
                              "python_version", zygote_slot_python(state->slot),
                              "preload", list_preload(profile), "state", name);

    if (is_failed)
        json_object_set_new(model, "fault",
                            json_string(zygote_slot_fault(state->slot)));
    return model;
}
