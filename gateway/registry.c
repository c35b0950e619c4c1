/* See registry.h. Sessions are actors: the registry hands them descriptors and
 * words, and answers management requests with what they say. Kernels are
 * launched here, since the zygotes are here. */
#include "gateway/registry.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/czmq_owners.h"
#include "gateway/gateway.h"
#include "gateway/management.h"
#include "gateway/session.h"
#include "kernels/kernel.h"
#include "kernels/zygote.h"

#include <sodium.h>

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ZYGOTE_RETRY_MS 2000 /* a zygote that ended is started again */
#define GATHER_MS       2000 /* a listing waits so long for busy actors */
#define END_MS          8000 /* --end-sessions waits so long */

/* One session in the table. */
typedef struct entry {
    struct entry *next; /* owned */
    char id[SESSION_ID_MAX];
    registry_t *registry;             /* borrowed */
    zactor_t *actor;                  /* owned */
    const profile_t *profile;         /* borrowed from the options */
    char *runtime_folder, *workspace; /* owned */
    uid_t host_uid;
    uint64_t launch; /* number of the launch under way; 0 none */
    bool is_ready, is_gone, is_drained, is_external;
    char *create_token; /* owned; who waits for READY, or NULL */
} entry_t;

/* A management request that waits for actors' answers. */
typedef struct pending {
    struct pending *next; /* owned */
    char token[24];
    message_t *request; /* owned */
    size_t missing;     /* answers still to come */
    json_t *sessions;   /* owned; array of a listing, or NULL */
    int64_t deadline;   /* monotonic ms */
} pending_t;

typedef struct {
    registry_t *registry; /* borrowed */
    const profile_t *profile;
    zygote_t *zygote;  /* owned; NULL between two lives */
    char fault[512];   /* why the last one ended */
    char ready[64];    /* its Python's version */
    unsigned failures; /* in a row */
} warmth_t;

struct registry {
    const options_t *options; /* borrowed */
    char *package_folder;     /* owned */
    management_t *management; /* owned */
    zloop_t *loop;            /* owned */
    warmth_t *warmths;        /* owned; one a profile */
    entry_t *entries;         /* owned */
    size_t entry_count, alive_count;
    pending_t *pending; /* owned */
    uint64_t counter;   /* of tokens and launches */
    uint64_t uid_counter;
    uint8_t journal_key[32];
    bool is_stopping; /* sessions are being left or ended */
    bool ends_all;    /* --end-sessions: nothing of them stays here */
    bool stop_now;    /* nothing has to be waited for */
};

/* ---- small things ---- */

static entry_t *find_entry(registry_t *self, const char *id)
{
    for (entry_t *at = self->entries; at; at = at->next)
        if (strcmp(at->id, id) == 0)
            return at;
    return NULL;
}

/* An id, a name is not enough; a prefix is when it is the only one. */
static entry_t *find_prefix(registry_t *self, const char *prefix,
                            bool *ret_ambiguous)
{
    entry_t *found = find_entry(self, prefix);

    *ret_ambiguous = false;
    if (found || !prefix[0])
        return found;
    for (entry_t *at = self->entries; at; at = at->next) {
        if (strncmp(at->id, prefix, strlen(prefix)) != 0)
            continue;
        if (found) {
            *ret_ambiguous = true;
            return NULL;
        }
        found = at;
    }
    return found;
}

static warmth_t *find_warmth(registry_t *self, const profile_t *profile)
{
    for (size_t i = 0; i < self->options->profile_count; i++)
        if (self->warmths[i].profile == profile)
            return &self->warmths[i];
    return NULL;
}

static void entry_destroy(entry_t **entry_p)
{
    entry_t *entry = *entry_p;

    if (entry->actor)
        zactor_destroy(&entry->actor);
    free(entry->runtime_folder);
    free(entry->workspace);
    free(entry->create_token);
    free(entry);
    *entry_p = NULL;
}

static void pending_destroy(pending_t **pending_p)
{
    pending_t *pending = *pending_p;

    message_destroy(&pending->request);
    json_decref(pending->sessions);
    free(pending);
    *pending_p = NULL;
}

/* ---- answers to management requests ---- */

static pending_t *pending_new(registry_t *self, message_t **request_p)
{
    pending_t *pending = mem_new(sizeof *pending);

    snprintf(pending->token, sizeof pending->token, "%" PRIu64,
             ++self->counter);
    pending->request = take_ptr(*request_p);
    pending->deadline = clock_monotonic_ms() + GATHER_MS;
    pending->next = self->pending;
    self->pending = pending;
    return pending;
}

static void pending_unlink(registry_t *self, pending_t *pending)
{
    pending_t **at = &self->pending;

    while (*at && *at != pending)
        at = &(*at)->next;
    if (*at)
        *at = pending->next;
    pending_destroy(&pending);
}

static pending_t *find_pending(registry_t *self, const char *token)
{
    for (pending_t *at = self->pending; at; at = at->next)
        if (strcmp(at->token, token) == 0)
            return at;
    return NULL;
}

static void finish_pending(registry_t *self, pending_t *pending, json_t *answer)
{
    management_reply(self->management, pending->request, answer);
    pending_unlink(self, pending);
}

static void fail_token(registry_t *self, const char *token, const char *ename,
                       int exit_code, const char *evalue)
{
    pending_t *pending = token ? find_pending(self, token) : NULL;

    if (pending)
        finish_pending(self, pending,
                       management_error(ename, exit_code, "%s", evalue));
}

static int compare_created(const void *a, const void *b)
{
    json_t *const *left = a, *const *right = b;
    const char *x = json_string_value(json_object_get(*left, "created"));
    const char *y = json_string_value(json_object_get(*right, "created"));

    return strcmp(x ? x : "", y ? y : "");
}

static json_t *sorted(json_t *sessions)
{
    size_t count = json_array_size(sessions);
    cleanup_free json_t **items = mem_new((count + 1) * sizeof *items);
    json_t *result = json_array();

    for (size_t i = 0; i < count; i++)
        items[i] = json_array_get(sessions, i);
    qsort(items, count, sizeof *items, compare_created);
    for (size_t i = 0; i < count; i++)
        json_array_append(result, items[i]);
    return result;
}

static void finish_listing(registry_t *self, pending_t *pending)
{
    finish_pending(self, pending,
                   json_pack("{s:s,s:o}", "status", "ok", "sessions",
                             sorted(pending->sessions)));
}

static void on_done(registry_t *self, const char *token, const char *text)
{
    pending_t *pending = find_pending(self, token);
    json_auto_t *answer = json_loads(text, 0, NULL);

    if (!pending || !answer)
        return;
    if (!pending->sessions) {
        finish_pending(self, pending, json_incref(answer));
        return;
    }
    if (json_object_get(answer, "session"))
        json_array_append(pending->sessions,
                          json_object_get(answer, "session"));
    if (--pending->missing == 0)
        finish_listing(self, pending);
}

static int on_sweep(zloop_t *loop, int timer, void *arg)
{
    registry_t *self = arg;
    int64_t now = clock_monotonic_ms();
    pending_t *next;

    (void) loop;
    (void) timer;
    for (pending_t *at = self->pending; at; at = next) {
        next = at->next;
        if (at->sessions && at->deadline < now)
            finish_listing(self, at);
    }
    return 0;
}

/* ---- launching ---- */

static bool is_uid_taken(const registry_t *self, uid_t uid)
{
    for (const entry_t *at = self->entries; at; at = at->next)
        if (!at->is_gone && at->host_uid == uid)
            return true;
    return false;
}

/* A user of its own for each session, so that even an escaped one is nobody
 * to the others. */
static uid_t choose_uid(registry_t *self)
{
    const options_t *options = self->options;

    if (geteuid() != 0 || !options->uid_count)
        return geteuid();
    for (uint64_t i = 0; i < options->uid_count; i++) {
        uid_t uid = (uid_t) (options->uid_first
                             + self->uid_counter++ % options->uid_count);
        if (!is_uid_taken(self, uid))
            return uid;
    }
    return (uid_t) options->uid_first;
}

static int open_listeners(const char *folder, int *ret_link, int *ret_init,
                          fault_t *fault)
{
    cleanup_free char *link_path = mem_format("%s/link.sock", folder);
    cleanup_free char *init_path = mem_format("%s/init.sock", folder);
    cleanup_fd int link_fd = -1;
    int r = fd_listen_unix(link_path, &link_fd, fault);

    if (r < 0)
        return r;
    r = fd_listen_unix(init_path, ret_init, fault);
    if (r < 0)
        return r;
    *ret_link = take_fd(&link_fd);
    return 0;
}

static void fail_launch(entry_t *entry, const char *text)
{
    entry->launch = 0;
    zstr_sendx(entry->actor, "FAILED", text, NULL);
}

/* The zygote gets the listening sockets, the actor connects to them at once:
 * its greeting waits there for the kernel. */
static int launch(registry_t *self, entry_t *entry, fault_t *fault)
{
    warmth_t *warmth = find_warmth(self, entry->profile);
    cleanup_fd int link_fd = -1, init_fd = -1, workspace_fd = -1,
                   status_fd = -1;
    int pipe_fds[2];
    char text[16];
    zygote_launch_t order = {
        .session = entry->id,
        .host_uid = entry->host_uid,
        .host_gid = entry->host_uid,
        .orphan_seconds = (unsigned) (self->options->orphan_timeout_ms / 1000),
    };
    int r;

    if (!warmth->zygote)
        return fault_set(fault, ECHILD, "profile %s cannot start: %s",
                         entry->profile->name, warmth->fault);
    if (geteuid() != 0)
        order.host_gid = getegid();
    r = open_listeners(entry->runtime_folder, &link_fd, &init_fd, fault);
    if (r < 0)
        return r;
    workspace_fd = open(entry->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (workspace_fd < 0)
        return fault_set(fault, errno, "workspace %s: %s", entry->workspace,
                         strerror(errno));
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return fault_set(fault, errno, "pipe: %s", strerror(errno));
    status_fd = pipe_fds[1];
    snprintf(text, sizeof text, "%d", pipe_fds[0]);
    zstr_sendx(entry->actor, "LAUNCHING", text, NULL);
    order.number = entry->launch = ++self->counter;
    order.workspace_fd = workspace_fd;
    order.link_fd = link_fd;
    order.init_fd = init_fd;
    order.status_fd = status_fd;
    return zygote_launch(warmth->zygote, &order, fault);
}

static void launch_or_fail(registry_t *self, entry_t *entry)
{
    fault_t fault;

    if (launch(self, entry, &fault) < 0)
        fail_launch(entry, fault.text);
}

/* ---- what actors say ---- */

static void unlink_entry(registry_t *self, entry_t *entry)
{
    entry_t **at = &self->entries;
    fault_t fault;

    while (*at && *at != entry)
        at = &(*at)->next;
    if (*at)
        *at = entry->next;
    self->entry_count--;
    zloop_reader_end(self->loop, zactor_sock(entry->actor));
    if (!self->is_stopping || entry->is_gone)
        (void) path_remove_tree(entry->runtime_folder, &fault);
    entry_destroy(&entry);
}

static void on_word_ready(registry_t *self, entry_t *entry)
{
    entry->is_ready = true;
    if (entry->create_token)
        zstr_sendx(entry->actor, "SHOW", entry->create_token, "", NULL);
    free(take_ptr(entry->create_token));
    (void) self;
}

static void count_gone(registry_t *self, entry_t *entry)
{
    if (!entry->is_gone)
        self->alive_count--;
    entry->is_gone = true;
}

static void on_word_gone(registry_t *self, entry_t *entry, const char *detail)
{
    count_gone(self, entry);
    fail_token(self, entry->create_token, "SessionNotStarted",
               GATEWAY_EXIT_FAILED, detail);
    free(take_ptr(entry->create_token));
}

static bool all_done(const registry_t *self)
{
    for (const entry_t *at = self->entries; at; at = at->next)
        if (!at->is_drained && !at->is_gone)
            return false;
    return true;
}

static int on_actor(zloop_t *loop, zsock_t *pipe, void *arg)
{
    entry_t *entry = arg;
    registry_t *self = entry->registry;
    cleanup_zmsg zmsg_t *message = zmsg_recv(pipe);
    cleanup_free char *word = message ? zmsg_popstr(message) : NULL;
    cleanup_free char *first = message ? zmsg_popstr(message) : NULL;
    cleanup_free char *second = message ? zmsg_popstr(message) : NULL;

    (void) loop;
    if (!word)
        return -1;
    if (strcmp(word, "DONE") == 0) {
        on_done(self, first ? first : "", second ? second : "null");
    } else if (strcmp(word, "READY") == 0) {
        on_word_ready(self, entry);
    } else if (strcmp(word, "LAUNCH") == 0) {
        launch_or_fail(self, entry);
    } else if (strcmp(word, "GONE") == 0) {
        on_word_gone(self, entry, second ? second : "");
    } else if (strcmp(word, "BROKEN") == 0) {
        count_gone(self, entry);
        fail_token(self, entry->create_token, "SessionNotStarted",
                   GATEWAY_EXIT_FAILED, first ? first : "");
        unlink_entry(self, entry);
    } else if (strcmp(word, "REMOVED") == 0) {
        count_gone(self, entry);
        unlink_entry(self, entry);
    } else if (strcmp(word, "DRAINED") == 0) {
        /* What comes next on this pipe is czmq's own end signal. */
        entry->is_drained = true;
        zloop_reader_end(self->loop, zactor_sock(entry->actor));
    } else {
        assert(!"a word of a session that the registry does not know");
    }
    return self->is_stopping && all_done(self) ? -1 : 0;
}

/* ---- zygotes ---- */

static int on_zygote(zloop_t *loop, zmq_pollitem_t *item, void *arg);

static void start_zygote(warmth_t *warmth)
{
    registry_t *self = warmth->registry;
    zmq_pollitem_t item = {.events = ZMQ_POLLIN};
    fault_t fault;

    if (zygote_new(warmth->profile, self->package_folder, &warmth->zygote,
                   &fault)
        < 0) {
        snprintf(warmth->fault, sizeof warmth->fault, "%s", fault.text);
        warmth->failures++;
        log_error("profile=%s %s", warmth->profile->name, fault.text);
        return;
    }
    item.fd = zygote_socket(warmth->zygote);
    zloop_poller(self->loop, &item, on_zygote, warmth);
    zloop_poller_set_tolerant(self->loop, &item);
}

static int on_zygote_retry(zloop_t *loop, int timer, void *arg)
{
    warmth_t *warmth = arg;

    (void) loop;
    (void) timer;
    if (!warmth->zygote && !warmth->registry->is_stopping)
        start_zygote(warmth);
    return 0;
}

static void on_zygote_gone(warmth_t *warmth, const char *text)
{
    registry_t *self = warmth->registry;
    zmq_pollitem_t item = {.fd = zygote_socket(warmth->zygote)};
    bool was_ready = warmth->ready[0] != '\0';

    log_error("profile=%s zygote gone: %s", warmth->profile->name, text);
    zloop_poller_end(self->loop, &item);
    zygote_destroy(&warmth->zygote);
    snprintf(warmth->fault, sizeof warmth->fault, "%s", text);
    warmth->ready[0] = '\0';
    warmth->failures = was_ready ? 0 : warmth->failures + 1;
    for (entry_t *at = self->entries; at; at = at->next)
        if (at->profile == warmth->profile && at->launch)
            fail_launch(at, text);
    zloop_timer(self->loop,
                (size_t) ZYGOTE_RETRY_MS
                    << (warmth->failures < 5 ? warmth->failures : 5),
                1, on_zygote_retry, warmth);
}

static void on_launched(registry_t *self, zygote_answer_t *answer)
{
    char pid[16], pidfd[16];

    for (entry_t *at = self->entries; at; at = at->next) {
        if (at->launch != answer->number)
            continue;
        at->launch = 0;
        snprintf(pid, sizeof pid, "%d", (int) answer->pid);
        snprintf(pidfd, sizeof pidfd, "%d", answer->pidfd);
        zstr_sendx(at->actor, "LAUNCHED", pid, pidfd, NULL);
        return;
    }
    /* Its session is gone meanwhile. */
    if (answer->pidfd >= 0) {
        (void) syscall(SYS_pidfd_send_signal, answer->pidfd, SIGKILL, NULL, 0);
        close(answer->pidfd);
    }
}

static int on_zygote(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    warmth_t *warmth = arg;
    registry_t *self = warmth->registry;
    zygote_event_t event;
    zygote_answer_t answer;

    (void) loop;
    (void) item;
    while (warmth->zygote
           && zygote_receive(warmth->zygote, &event, &answer) == 1) {
        switch (event) {
        case ZYGOTE_READY:
            warmth->failures = 0;
            snprintf(warmth->ready, sizeof warmth->ready, "%.60s",
                     answer.text[0] ? answer.text : "?");
            log_notice("profile=%s zygote ready python=%s",
                       warmth->profile->name, warmth->ready);
            break;
        case ZYGOTE_LAUNCHED:
            on_launched(self, &answer);
            break;
        case ZYGOTE_FAILED:
            for (entry_t *at = self->entries; at; at = at->next)
                if (at->launch == answer.number)
                    fail_launch(at, answer.text);
            break;
        case ZYGOTE_GONE:
            on_zygote_gone(warmth, answer.text);
            break;
        }
    }
    return 0;
}

/* ---- sessions: made and taken over ---- */

static entry_t *add_entry(registry_t *self, session_spec_t **spec_p)
{
    session_spec_t *spec = take_ptr(*spec_p);
    entry_t *entry = mem_new(sizeof *entry);

    entry->registry = self;
    snprintf(entry->id, sizeof entry->id, "%s", spec->id);
    entry->profile = spec->profile;
    entry->runtime_folder = mem_text(spec->runtime_folder);
    entry->workspace = mem_text(spec->workspace);
    entry->is_gone = spec->reason[0] != '\0';
    entry->is_external = spec->is_external;
    entry->actor = zactor_new(session_actor, spec);
    entry->next = self->entries;
    self->entries = entry;
    self->entry_count++;
    if (!entry->is_gone)
        self->alive_count++;
    zloop_reader(self->loop, zactor_sock(entry->actor), on_actor, entry);
    return entry;
}

static void fill_settings(registry_t *self, session_spec_t *spec)
{
    const options_t *options = self->options;

    spec->grace_ms = options->interrupt_grace_ms;
    spec->gone_keep_ms = options->gone_keep_ms;
    spec->journal_options = (journal_options_t){
        .bytes_max = options->journal_bytes, .spill_min = options->spill};
    memcpy(spec->journal_key, self->journal_key, sizeof spec->journal_key);
}

static void make_id(char ret_id[SESSION_ID_MAX])
{
    uint8_t b[16];

    randombytes_buf(b, sizeof b);
    b[6] = (uint8_t) ((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t) ((b[8] & 0x3f) | 0x80);
    snprintf(ret_id, SESSION_ID_MAX,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
}

static int make_connection(registry_t *self, session_spec_t *spec,
                           const char *file, fault_t *fault)
{
    connection_t *connection = &spec->connection;
    const options_t *options = self->options;

    if (file) {
        spec->connection_file = mem_text(file);
        spec->is_external = true;
        return connection_read(file, connection, fault);
    }
    spec->connection_file =
        mem_format("%s/connection.json", spec->runtime_folder);
    connection->secret = secret_new_random();
    snprintf(connection->kernel_name, sizeof connection->kernel_name, "%.60s",
             spec->profile->name);
    if (options->transport == OPTIONS_TCP) {
        snprintf(connection->transport, sizeof connection->transport, "tcp");
        snprintf(connection->ip, sizeof connection->ip, "%.100s", options->ip);
        return 0;
    }
    snprintf(connection->transport, sizeof connection->transport, "ipc");
    if (snprintf(connection->ip, sizeof connection->ip, "%s/z",
                 spec->runtime_folder)
        >= (int) sizeof connection->ip - 2)
        return fault_set(fault, ENAMETOOLONG,
                         "%s is too long for ipc sockets; "
                         "set gateway/runtime_dir to a shorter one",
                         spec->runtime_folder);
    for (int i = 0; i < CHANNEL_COUNT; i++)
        connection->ports[i] = i + 1;
    return 0;
}

static int make_folders(registry_t *self, session_spec_t *spec,
                        const char *workspace, uid_t host_uid, fault_t *fault)
{
    int r;

    spec->runtime_folder =
        mem_format("%s/sessions/%s", self->options->runtime_dir, spec->id);
    spec->state_folder =
        mem_format("%s/sessions/%s", self->options->state_dir, spec->id);
    spec->workspace = workspace
                          ? mem_text(workspace)
                          : mem_format("%s/workspace", spec->state_folder);
    if ((r = path_make_folders(spec->runtime_folder, 0700, fault)) < 0
        || (r = path_make_folders(spec->state_folder, 0700, fault)) < 0
        || (!workspace
            && (r = path_make_folders(spec->workspace, 0700, fault)) < 0))
        return r;
    if (host_uid != geteuid() && !workspace
        && chown(spec->workspace, host_uid, host_uid) < 0)
        return fault_set(fault, errno, "chown of %s: %s", spec->workspace,
                         strerror(errno));
    return 0;
}

static int64_t get_ms(json_t *content, const char *key, int64_t otherwise)
{
    json_t *value = json_object_get(content, key);

    return json_is_number(value) ? (int64_t) (json_number_value(value) * 1000)
                                 : otherwise;
}

static int fill_spec(registry_t *self, json_t *content, session_spec_t *spec,
                     uid_t host_uid, fault_t *fault)
{
    const options_t *options = self->options;
    const char *profile =
        json_string_value(json_object_get(content, "profile"));
    const char *name = json_string_value(json_object_get(content, "name"));
    const char *restart =
        json_string_value(json_object_get(content, "restart"));
    int r;

    spec->profile = options_profile(options, profile);
    if (!spec->profile)
        return fault_set(fault, EINVAL,
                         "there is no profile \"%s\"; `hearth "
                         "gateway info` lists them",
                         profile);
    if (restart && strcmp(restart, "auto") != 0
        && strcmp(restart, "never") != 0)
        return fault_set(fault, EINVAL, "restart must be auto or never");
    make_id(spec->id);
    spec->created_us = clock_wall_us();
    spec->epoch = 1;
    spec->idle_timeout_ms =
        get_ms(content, "idle_timeout", options->idle_timeout_ms);
    spec->lifetime_ms = get_ms(content, "lifetime", options->lifetime_ms);
    spec->cell_limit_ms =
        get_ms(content, "cell_time_limit", options->cell_time_limit_ms);
    if (spec->idle_timeout_ms < 0 || spec->lifetime_ms < 0
        || spec->cell_limit_ms < 0)
        return fault_set(fault, EINVAL,
                         "idle_timeout, lifetime and "
                         "cell_time_limit are seconds, 0 or more");
    spec->restarts = restart ? strcmp(restart, "auto") == 0
                             : options->restart == OPTIONS_RESTART_AUTO;
    fill_settings(self, spec);
    r = make_folders(self, spec,
                     json_string_value(json_object_get(content, "workspace")),
                     host_uid, fault);
    if (r < 0)
        return r;
    spec->name = name ? mem_text(name) : mem_format("%.8s", spec->id);
    return make_connection(
        self, spec,
        json_string_value(json_object_get(content, "connection_file")), fault);
}

static void on_create(registry_t *self, json_t *content, message_t **request_p)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    cleanup_message message_t *request = take_ptr(*request_p);
    uid_t host_uid = choose_uid(self);
    entry_t *entry;
    fault_t fault;

    if (self->alive_count >= self->options->sessions_max) {
        management_reply(self->management, request,
                         management_error("TooManySessions",
                                          GATEWAY_EXIT_FAILED,
                                          "%zu sessions are alive, the limit "
                                          "sessions/sessions_max; delete one "
                                          "or try again later",
                                          self->alive_count));
        return;
    }
    if (fill_spec(self, content, spec, host_uid, &fault) < 0) {
        management_reply(self->management, request,
                         management_error("SessionNotStarted",
                                          GATEWAY_EXIT_FAILED, "%s",
                                          fault.text));
        return;
    }
    entry = add_entry(self, &spec);
    entry->host_uid = host_uid;
    entry->create_token = mem_text(pending_new(self, &request)->token);
    launch_or_fail(self, entry);
}

static const profile_t *adopted_profile(registry_t *self, const char *name)
{
    const profile_t *profile = options_profile(self->options, name);

    return profile ? profile : options_profile(self->options, NULL);
}

static int adopt_one(registry_t *self, const char *folder, fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    struct stat about;
    entry_t *entry;
    int r = session_spec_read(folder, &spec, &profile, fault);

    if (r < 0)
        return r;
    spec->profile = adopted_profile(self, profile);
    fill_settings(self, spec);
    if (spec->reason[0]
        && clock_wall_us() - spec->ended_us > spec->gone_keep_ms * 1000)
        return 0;
    spec->epoch++;
    r = connection_read(spec->connection_file, &spec->connection, fault);
    if (r < 0) {
        /* Without its key and ports nobody can talk to it: a reboot, or
         * somebody emptied the runtime folder. */
        if (spec->reason[0])
            return 0;
        kernel_kill_stray(spec->pid, spec->start_time);
        spec->pid = 0;
        snprintf(spec->reason, sizeof spec->reason, "lost");
        free(spec->detail);
        spec->detail =
            mem_format("its connection file is gone (%s)", fault->text);
        spec->ended_us = clock_wall_us();
        return session_spec_write(spec, fault);
    }
    r = session_spec_write(spec, fault);
    if (r < 0)
        return r;
    entry = add_entry(self, &spec);
    if (stat(entry->workspace, &about) == 0)
        entry->host_uid = about.st_uid;
    return 0;
}

static void adopt_all(registry_t *self)
{
    cleanup_free char *sessions =
        mem_format("%s/sessions", self->options->state_dir);
    DIR *folder = opendir(sessions);
    struct dirent *item;
    size_t count = 0;

    while (folder && (item = readdir(folder))) {
        cleanup_free char *path = mem_format("%s/%s", sessions, item->d_name);
        fault_t fault = {0};

        if (item->d_name[0] == '.')
            continue;
        if (adopt_one(self, path, &fault) < 0)
            log_error("session=%s not taken over: %s", item->d_name,
                      fault.text);
        else
            count++;
    }
    if (folder)
        closedir(folder);
    if (count)
        log_notice("%zu sessions of an earlier gateway were found, %zu of them "
                   "alive",
                   count, self->alive_count);
}

/* A gone session that no actor keeps any more: its file still tells. */
static json_t *read_tombstone(registry_t *self, const char *id)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *folder = NULL, *profile = NULL;
    char created[CLOCK_ISO_SIZE], ended[CLOCK_ISO_SIZE];
    fault_t fault;

    if (strchr(id, '/') || id[0] == '.' || !id[0])
        return NULL;
    folder = mem_format("%s/sessions/%s", self->options->state_dir, id);
    if (session_spec_read(folder, &spec, &profile, &fault) < 0)
        return NULL;
    clock_iso(spec->created_us, created);
    clock_iso(spec->ended_us, ended);
    return json_pack(
        "{s:s,s:{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:n}}", "status", "ok",
        "session", "id", spec->id, "name", spec->name ? spec->name : "",
        "profile", profile, "state", "gone", "created", created, "ended", ended,
        "reason", spec->reason[0] ? spec->reason : "lost", "detail",
        spec->detail ? spec->detail : "", "workspace", spec->workspace,
        "journal", json_sprintf("%s/journal", folder), "expires_at");
}

/* ---- management requests ---- */

static void on_info(registry_t *self, json_t *content, message_t **request_p)
{
    json_t *profiles = json_array();

    (void) content;
    for (size_t i = 0; i < self->options->profile_count; i++) {
        const warmth_t *warmth = &self->warmths[i];
        bool is_ready = warmth->zygote && zygote_is_ready(warmth->zygote);
        json_t *model = json_pack(
            "{s:s,s:s,s:s,s:s}", "name", warmth->profile->name, "python",
            warmth->profile->python, "python_version", warmth->ready, "state",
            is_ready         ? "ready"
            : warmth->zygote ? "warming"
                             : "failed");

        if (!warmth->zygote)
            json_object_set_new(model, "fault", json_string(warmth->fault));
        json_array_append_new(profiles, model);
    }
    management_reply(self->management, *request_p,
                     json_pack("{s:s,s:s,s:i,s:s,s:s,s:o,s:I}", "status", "ok",
                               "version", PACKAGE_VERSION, "pid",
                               (int) getpid(), "runtime_dir",
                               self->options->runtime_dir, "state_dir",
                               self->options->state_dir, "profiles", profiles,
                               "sessions", (json_int_t) self->alive_count));
    message_destroy(request_p);
}

static void on_list(registry_t *self, json_t *content, message_t **request_p)
{
    bool wants_gone = json_is_true(json_object_get(content, "all"));
    pending_t *pending = pending_new(self, request_p);

    pending->sessions = json_array();
    for (entry_t *at = self->entries; at; at = at->next) {
        if (at->is_gone && !wants_gone)
            continue;
        pending->missing++;
        zstr_sendx(at->actor, "SHOW", pending->token, "", NULL);
    }
    if (!pending->missing)
        finish_listing(self, pending);
}

/* Commands for one session: the actor answers. */
static void command(registry_t *self, json_t *content, message_t **request_p,
                    const char *word, const char *argument)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    entry_t *entry = id ? find_prefix(self, id, &is_ambiguous) : NULL;
    json_t *tombstone;

    if (entry) {
        pending_t *pending = pending_new(self, request_p);
        zstr_sendx(entry->actor, word, pending->token, argument, NULL);
        return;
    }
    if (is_ambiguous)
        management_reply(self->management, *request_p,
                         management_error("AmbiguousSession",
                                          GATEWAY_EXIT_USAGE,
                                          "more than one session begins with "
                                          "%s; give more of the id",
                                          id));
    else if (id && (tombstone = read_tombstone(self, id))) {
        json_t *session = json_object_get(tombstone, "session");

        if (strcmp(word, "SHOW") != 0) {
            json_t *error = management_error(
                "SessionGone", GATEWAY_EXIT_GONE,
                "session %s is gone since %s (%s: %s); its variables were "
                "discarded, its recording remains",
                id, json_string_value(json_object_get(session, "ended")),
                json_string_value(json_object_get(session, "reason")),
                json_string_value(json_object_get(session, "detail")));
            json_decref(tombstone);
            tombstone = error;
        }
        management_reply(self->management, *request_p, tombstone);
    } else
        management_reply(self->management, *request_p,
                         management_error("UnknownSession", GATEWAY_EXIT_GONE,
                                          "there is no session %s; `hearth "
                                          "session list` shows those that are",
                                          id ? id : "without an id"));
    message_destroy(request_p);
}

static void on_show(registry_t *self, json_t *content, message_t **request_p)
{
    command(self, content, request_p, "SHOW", "");
}

static void on_delete(registry_t *self, json_t *content, message_t **request_p)
{
    command(self, content, request_p, "DELETE", "");
}

static void on_interrupt(registry_t *self, json_t *content,
                         message_t **request_p)
{
    bool kills = json_is_true(json_object_get(content, "kill"));

    command(self, content, request_p, "INTERRUPT", kills ? "kill" : "");
}

static void on_restart(registry_t *self, json_t *content, message_t **request_p)
{
    command(self, content, request_p, "RESTART", "");
}

static void on_keepalive(registry_t *self, json_t *content,
                         message_t **request_p)
{
    command(self, content, request_p, "TOUCH", "");
}

static int on_stop_deadline(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    (void) arg;
    return -1;
}

static bool stop(registry_t *self, bool ends_sessions)
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
        if (ends_sessions || at->is_external)
            zstr_sendx(at->actor, "DELETE", "", "", NULL);
        else
            zstr_sendx(at->actor, "DRAIN", grace, NULL);
    }
    zloop_timer(self->loop, (size_t) (ends_sessions ? END_MS : grace_ms + 2000),
                1, on_stop_deadline, self);
    log_notice("stopping, sessions are %s", ends_sessions ? "ended" : "kept");
    return all_done(self);
}

static void on_stop(registry_t *self, json_t *content, message_t **request_p)
{
    bool ends = json_is_true(json_object_get(content, "end_sessions"));

    management_reply(
        self->management, *request_p,
        json_pack("{s:s,s:i}", "status", "ok", "pid", (int) getpid()));
    message_destroy(request_p);
    self->stop_now = stop(self, ends);
}

static const struct {
    const char *type;
    void (*handler)(registry_t *self, json_t *content, message_t **request_p);
} requests[] = {
    {"gateway_info_request", on_info},
    {"gateway_stop_request", on_stop},
    {"session_create_request", on_create},
    {"session_list_request", on_list},
    {"session_show_request", on_show},
    {"session_delete_request", on_delete},
    {"session_interrupt_request", on_interrupt},
    {"session_restart_request", on_restart},
    {"session_keepalive_request", on_keepalive},
};

static void on_request(registry_t *self, message_t **request_p)
{
    const char *type = message_type(*request_p);
    bytes_t bytes = message_content(*request_p);
    json_auto_t *content = json_loadb(bytes.bytes, bytes.size, 0, NULL);

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].type, type) == 0) {
            requests[i].handler(self, content, request_p);
            return;
        }
    management_reply(self->management, *request_p,
                     management_error("UnknownRequest", GATEWAY_EXIT_USAGE,
                                      "this gateway knows no such request"));
    message_destroy(request_p);
}

static int on_management(zloop_t *loop, zsock_t *socket, void *arg)
{
    registry_t *self = arg;
    message_t *request;

    (void) loop;
    (void) socket;
    while ((request = management_receive(self->management)))
        on_request(self, &request);
    return self->stop_now ? -1 : 0;
}

static int on_signal(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    registry_t *self = arg;
    struct signalfd_siginfo signal;

    (void) loop;
    while (read(item->fd, &signal, sizeof signal) == (ssize_t) sizeof signal)
        if (stop(self, false))
            return -1;
    return 0;
}

/* ---- birth and death ---- */

static void end_entry(registry_t *self, entry_t **entry_p)
{
    bool is_over = self->ends_all && (*entry_p)->is_gone;
    cleanup_free char *folder = mem_text((*entry_p)->runtime_folder);
    fault_t fault;

    entry_destroy(entry_p);
    if (is_over)
        (void) path_remove_tree(folder, &fault);
}

void registry_destroy(registry_t **self_p)
{
    registry_t *self = *self_p;

    if (!self)
        return;
    while (self->entries) {
        entry_t *first = self->entries;
        self->entries = first->next;
        end_entry(self, &first);
    }
    while (self->pending) {
        pending_t *first = self->pending;
        self->pending = first->next;
        pending_destroy(&first);
    }
    for (size_t i = 0; self->warmths && i < self->options->profile_count; i++)
        zygote_destroy(&self->warmths[i].zygote);
    free(self->warmths);
    management_destroy(&self->management);
    zloop_destroy(&self->loop);
    free(self->package_folder);
    free(self);
    *self_p = NULL;
}

/* The key that chains the journals; made once, kept beside them. */
static int read_journal_key(registry_t *self, fault_t *fault)
{
    cleanup_free char *path =
        mem_format("%s/journal.key", self->options->state_dir);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    int r = file_read(path, 64, &content, fault);

    if (r == -ENOENT) {
        randombytes_buf(self->journal_key, sizeof self->journal_key);
        return file_write_atomic(path, 0600, self->journal_key,
                                 sizeof self->journal_key, fault);
    }
    if (r < 0)
        return r;
    if (content.size != sizeof self->journal_key)
        return fault_set(fault, EINVAL, "%s has %zu bytes, 32 are right", path,
                         content.size);
    memcpy(self->journal_key, content.data, sizeof self->journal_key);
    return 0;
}

int registry_new(const options_t *options, const char *package_folder,
                 registry_t **ret_registry, fault_t *fault)
{
    cleanup_registry registry_t *self = mem_new(sizeof *self);
    int r;

    self->options = options;
    self->package_folder = mem_text(package_folder);
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    r = read_journal_key(self, fault);
    if (r < 0)
        return r;
    self->warmths = mem_new(options->profile_count * sizeof *self->warmths);
    for (size_t i = 0; i < options->profile_count; i++) {
        self->warmths[i].registry = self;
        self->warmths[i].profile = options->profiles[i];
        start_zygote(&self->warmths[i]);
    }
    adopt_all(self);
    /* Bound last: who can connect finds everything there. */
    r = management_new(options->runtime_dir, &self->management, fault);
    if (r < 0)
        return r;
    zloop_reader(self->loop, management_socket(self->management), on_management,
                 self);
    zloop_timer(self->loop, GATHER_MS, 0, on_sweep, self);
    *ret_registry = take_ptr(self);
    return 0;
}

int registry_run(registry_t *self, int signal_fd)
{
    zmq_pollitem_t item = {.fd = signal_fd, .events = ZMQ_POLLIN};

    zloop_poller(self->loop, &item, on_signal, self);
    zloop_start(self->loop);
    return 0;
}
