/* Sessions begin here, on request or for the pool: out of the pool where one
 * waits there, else by a fork, a few at a time; the others stand in a queue.
 * What a session is made from is its spec (gateway/session/actor.h). */
#include "gateway/registry/internal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/limit_overrides.h"
#include "gateway/config/state_files.h"

#include <sodium.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENVIRONMENT_MAX (16u << 10) /* bytes of it as JSON */

void creation_fill_settings(const registry_t *self, session_spec_t *spec)
{
    const options_t *options = self->options;

    spec->cgroups = self->cgroups;
    spec->is_lent = options->lends_subids;
    spec->grace_ms = options->interrupt_grace_ms;
    spec->ready_ms = options->ready_timeout_ms;
    spec->gone_keep_ms = options->gone_keep_ms;
    spec->subscriber_bytes = options->subscriber_bytes;
    spec->subscriber_patience_ms = options->subscriber_patience_ms;
    spec->journal_options = (journal_options_t){
        .bytes_max = spec->limits.journal_bytes, .spill_min = options->spill};
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

void creation_make_blank(registry_t *self)
{
    const profile_t *profile = options_profile(self->options, NULL);
    cgroup_limits_t limits = profile_group_limits(&profile->limits);
    char id[SESSION_ID_MAX];

    make_id(id);
    blank_make(self->blank, id, &limits);
}

int creation_make_connection(const registry_t *self, session_spec_t *spec,
                             const char *file, const char *transport,
                             fault_t *fault)
{
    connection_t *connection = &spec->connection;
    const options_t *options = self->options;
    bool is_tcp = transport ? strcmp(transport, "tcp") == 0
                            : options->transport == OPTIONS_TCP;

    if (transport && !is_tcp && strcmp(transport, "ipc") != 0)
        return fault_set(fault, EINVAL, "transport must be ipc or tcp");
    if (file && transport)
        return fault_set(fault, EINVAL,
                         "a connection file says its transport itself");
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
    if (is_tcp) {
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

static int make_each(const session_spec_t *spec, bool has_own_workspace,
                     fault_t *fault)
{
    int r = path_make_folders(spec->runtime_folder, 0700, fault);

    if (r == 0)
        r = path_make_folders(spec->state_folder, 0700, fault);
    if (r == 0 && has_own_workspace)
        r = path_make_folders(spec->workspace, 0700, fault);
    return r;
}

/* That of what was made ahead, where it fits. A member of the pool has the
 * time, and leaves it to who waits. */
static void choose_id(const registry_t *self, session_spec_t *spec,
                      json_t *content)
{
    if (!spec->is_pooled && blank_is_there(self->blank)
        && !json_object_get(content, "workspace"))
        snprintf(spec->id, sizeof spec->id, "%s", blank_id(self->blank));
    else
        make_id(spec->id);
}

static int make_folders(registry_t *self, session_spec_t *spec,
                        const char *workspace, uid_t host_uid, fault_t *fault)
{
    bool is_made;
    int r;

    spec->runtime_folder =
        mem_format("%s/sessions/%s", self->options->runtime_dir, spec->id);
    spec->state_folder =
        session_state_folder(self->options->state_dir, spec->id);
    spec->workspace = workspace ? mem_text(workspace)
                                : session_own_workspace(spec->state_folder);
    is_made = blank_take(self->blank, spec->id, spec->runtime_folder,
                         spec->state_folder);
    if (!is_made && (r = make_each(spec, !workspace, fault)) < 0)
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

/* What the request says of the session's life. */
static int fill_wishes(const registry_t *self, json_t *content,
                       session_spec_t *spec, fault_t *fault)
{
    const options_t *options = self->options;
    const char *restart =
        json_string_value(json_object_get(content, "restart"));

    if (restart && strcmp(restart, "auto") != 0
        && strcmp(restart, "never") != 0)
        return fault_set(fault, EINVAL, "restart must be auto or never");
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
    return 0;
}

/* Variables of the gateway's own that kernels have, too. */
static json_t *inherited(const options_t *options)
{
    json_t *environment = json_object();

    for (char *const *name = options->inherit_env; name && *name; name++) {
        const char *value = getenv(*name);
        if (value)
            json_object_set_new(environment, *name, json_string(value));
    }
    return environment;
}

/* A kernel's environment is made from nothing: what steers its interpreter or
 * its libraries is hearth's. */
static int fill_environment(const registry_t *self, json_t *content,
                            session_spec_t *spec, fault_t *fault)
{
    json_t *environment = json_object_get(content, "environment"), *value;
    json_auto_t *all = inherited(self->options);
    const char *name;

    if (environment && !json_is_object(environment))
        return fault_set(fault, EINVAL, "environment must be an object");
    json_object_foreach(environment, name, value)
    {
        if (!options_permits_variable(self->options, name)
            || !json_is_string(value))
            return fault_set(fault, EINVAL,
                             "environment holds texts whose names are KERNEL_ "
                             "and capitals, digits or _, or stand in "
                             "sessions/allow_env");
    }
    json_object_update(all, environment);
    if (!json_object_size(all))
        return 0;
    spec->environment = json_dumps(all, JSON_COMPACT);
    if (strlen(spec->environment) > ENVIRONMENT_MAX)
        return fault_set(fault, E2BIG,
                         "environment has %zu bytes, %u are the limit",
                         strlen(spec->environment), ENVIRONMENT_MAX);
    return 0;
}

static int fill_spec(registry_t *self, json_t *content, session_spec_t *spec,
                     uid_t host_uid, fault_t *fault)
{
    const char *profile =
        json_string_value(json_object_get(content, "profile"));
    const char *name = json_string_value(json_object_get(content, "name"));
    int r;

    spec->profile = options_profile(self->options, profile);
    if (!spec->profile)
        return fault_set(fault, EINVAL,
                         "there is no profile \"%s\"; `hearth "
                         "gateway info` lists them",
                         profile);
    if ((r = fill_wishes(self, content, spec, fault)) < 0
        || (r = fill_environment(self, content, spec, fault)) < 0
        || (r = session_limits_ask(spec->profile,
                                   json_object_get(content, "limits"),
                                   &spec->limits, &spec->limits_asked, fault))
               < 0)
        return r;
    choose_id(self, spec, content);
    spec->created_us = clock_wall_us();
    spec->epoch = 1;
    creation_fill_settings(self, spec);
    r = make_folders(self, spec,
                     json_string_value(json_object_get(content, "workspace")),
                     host_uid, fault);
    if (r < 0)
        return r;
    spec->name = name ? mem_text(name) : mem_format("%.8s", spec->id);
    return creation_make_connection(
        self, spec,
        json_string_value(json_object_get(content, "connection_file")),
        json_string_value(json_object_get(content, "transport")), fault);
}

/* What a pooled session can be given afterwards is all that was asked for:
 * its folder and its ports are made already, its kernel has its environment
 * and its limits. */
static bool fits_pool(json_t *content)
{
    return !json_object_get(content, "workspace")
           && !json_object_get(content, "connection_file")
           && !json_object_get(content, "transport")
           && !json_object_size(json_object_get(content, "environment"))
           && !json_object_get(content, "limits");
}

/* The settings that the session gets when it is handed out; NULL: wrong. */
static json_t *handover(registry_t *self, json_t *content,
                        const message_t *request, fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    json_t *settings;

    if (fill_wishes(self, content, spec, fault) < 0)
        return NULL;
    settings = json_pack(
        "{s:s,s:I,s:I,s:I,s:I,s:b}", "asker", message_sender(request),
        "idle_timeout_ms", (json_int_t) spec->idle_timeout_ms, "lifetime_ms",
        (json_int_t) spec->lifetime_ms, "cell_limit_ms",
        (json_int_t) spec->cell_limit_ms, "gone_keep_ms",
        (json_int_t) self->options->gone_keep_ms, "restarts", spec->restarts);
    if (json_object_get(content, "name"))
        json_object_set(settings, "name", json_object_get(content, "name"));
    return settings;
}

static bool hand_out(registry_t *self, const profile_t *profile,
                     json_t *content, message_t **request_p, int64_t asked_us,
                     fault_t *fault)
{
    entry_t *member = fits_pool(content) ? pool_take(self, profile) : NULL;
    cleanup_free char *text = NULL;
    json_auto_t *settings = NULL;
    const char *token;

    if (!member || !(settings = handover(self, content, *request_p, fault)))
        return false;
    text = json_dumps(settings, JSON_COMPACT);
    token = pending_new_start(self, request_p, asked_us);
    line_say(member->line, "HAND", token, text);
    registry_own(self, member, token);
    launcher_warmth(self, profile)->handed_out++;
    pool_refill_soon(self);
    return true;
}

/* `asker` is NULL for one that is made for the pool. */
static entry_t *start(registry_t *self, json_t *content, const char *asker,
                      fault_t *fault)
{
    bool is_pooled = !asker;
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    uid_t host_uid = launcher_choose_uid(
        self, json_is_string(json_object_get(content, "workspace")));
    entry_t *entry;

    spec->is_pooled = is_pooled;
    spec->asker = asker ? mem_text(asker) : NULL;
    if (fill_spec(self, content, spec, host_uid, fault) < 0)
        return NULL;
    if (is_pooled)
        spec->idle_timeout_ms = spec->lifetime_ms = spec->gone_keep_ms = 0;
    if (registry_add(self, &spec, &entry, fault) < 0) {
        fault_t ignored;

        (void) path_remove_tree(spec->runtime_folder, &ignored);
        (void) path_remove_tree(spec->state_folder, &ignored);
        return NULL;
    }
    launcher_hold_user(entry, host_uid);
    if (is_pooled)
        pool_join(entry);
    entry->is_starting = true;
    self->starting_count++;
    return entry;
}

static void fork_one(registry_t *self, const profile_t *profile,
                     json_t *content, message_t **request_p, int64_t asked_us)
{
    fault_t fault;
    entry_t *entry = start(self, content, message_sender(*request_p), &fault);

    if (!entry) {
        management_reply(self->management, *request_p,
                         management_error("SessionNotStarted",
                                          GATEWAY_EXIT_FAILED, "%s",
                                          fault.text));
        message_destroy(request_p);
        return;
    }
    launcher_warmth(self, profile)->forked++;
    entry->create_token =
        mem_text(pending_new_start(self, request_p, asked_us));
    launcher_launch(self, entry);
}

static void wait_in_line(registry_t *self, message_t **request_p)
{
    waiting_t *waiting = mem_new(sizeof *waiting);

    waiting->request = take_ptr(*request_p);
    waiting->asked_us = clock_monotonic_us();
    *self->waiting_end = waiting;
    self->waiting_end = &waiting->next;
    self->waiting_count++;
}

/* Seconds until the line is through, at the pace of late. */
static unsigned retry_after(const registry_t *self)
{
    double ms = self->start_ms * (double) self->waiting_count
                / (double) self->options->starts_max;

    return 1 + (unsigned) (ms / 1000);
}

static void refuse(registry_t *self, message_t *request)
{
    const char *limit = TALLY_SESSIONS;
    json_t *answer;

    if (self->alive_count + self->waiting_count
        >= self->options->sessions_max) {
        answer = management_error(
            "TooManySessions", GATEWAY_EXIT_FAILED,
            "%zu sessions are alive or wait for their start, the limit "
            "sessions/sessions_max; delete one or try again later",
            self->alive_count + self->waiting_count);
    } else if (!room_is_left(self)) {
        answer = management_error(
            "TooManySessions", GATEWAY_EXIT_FAILED,
            "the descriptors that the gateway may have suffice for %zu "
            "sessions and viewers; raise RLIMIT_NOFILE (ulimit -n, "
            "LimitNOFILE=)",
            self->capacity);
    } else {
        unsigned seconds = retry_after(self);

        answer = management_error(
            "GatewayBusy", GATEWAY_EXIT_FAILED,
            "%zu sessions wait for their start already, the limit "
            "gateway/starts_queue; try again in %u s",
            self->waiting_count, seconds);
        json_object_set_new(answer, "retry_after", json_integer(seconds));
        limit = TALLY_STARTS;
    }
    tally_limit(self->tally, limit);
    management_reply(self->management, request, answer);
}

static void make(registry_t *self, json_t *content, message_t **request_p,
                 int64_t asked_us)
{
    const char *name = json_string_value(json_object_get(content, "profile"));
    const profile_t *profile = options_profile(self->options, name);
    fault_t fault;

    if (!profile
        || !hand_out(self, profile, content, request_p, asked_us, &fault))
        fork_one(self, profile, content, request_p, asked_us);
}

/* Those who came before are served before. */
void creation_make(registry_t *self, json_t *content, message_t **request_p)
{
    cleanup_message message_t *request = take_ptr(*request_p);
    const char *name = json_string_value(json_object_get(content, "profile"));
    const profile_t *profile = options_profile(self->options, name);
    bool is_full = self->starting_count >= self->options->starts_max;
    bool has_member = profile && fits_pool(content) && pool_take(self, profile);

    room_forget_gone(self);
    if (profile)
        pool_count_arrival(self, profile);
    if (self->alive_count + self->waiting_count >= self->options->sessions_max
        || (!room_is_left(self) && !has_member)) {
        refuse(self, request);
    } else if (self->waiting || (is_full && !has_member)) {
        if (self->waiting_count >= self->options->starts_queue)
            refuse(self, request);
        else
            wait_in_line(self, &request);
    } else {
        make(self, content, &request, clock_monotonic_us());
    }
}

void creation_next(registry_t *self)
{
    while (self->waiting && !self->is_stopping
           && self->starting_count < self->options->starts_max) {
        waiting_t *first = self->waiting;
        bytes_t bytes = message_content(first->request);
        json_auto_t *content = json_loadb(bytes.bytes, bytes.size, 0, NULL);

        self->waiting = first->next;
        if (!self->waiting)
            self->waiting_end = &self->waiting;
        self->waiting_count--;
        make(self, content, &first->request, first->asked_us);
        free(first);
    }
}

void creation_clear(registry_t *self)
{
    while (self->waiting) {
        waiting_t *first = self->waiting;

        self->waiting = first->next;
        message_destroy(&first->request);
        free(first);
    }
}

int creation_make_pooled(registry_t *self, const profile_t *profile,
                         fault_t *fault)
{
    json_auto_t *content = json_pack("{s:s}", "profile", profile->name);
    entry_t *entry = start(self, content, NULL, fault);

    if (!entry)
        return -fault->code;
    launcher_launch(self, entry);
    return 0;
}
