/* See create.h. A few sessions at a time are forked; requests beyond that wait
 * in a queue, and are refused when it is full. */
#include "gateway/registry/create.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/capacity.h"
#include "gateway/registry/launcher.h"
#include "gateway/registry/pending_requests.h"
#include "gateway/registry/replacements.h"
#include "gateway/registry/session_factory.h"
#include "gateway/registry/session_feed.h"

#include <stdlib.h>

/* A request that waits for its turn. */
typedef struct waiting {
    struct waiting *next; /* owned */
    message_t *request;   /* owned */
    int64_t asked_us;     /* monotonic */
} waiting_t;

struct create {
    const registry_parts_t *parts; /* borrowed */
    waiting_t *first, **end;       /* owned; the queue, and where it ends */
    size_t count;                  /* in the queue */
    replacements_t *replacements;  /* owned; requests that wait for an end */
    double start_ms;               /* how long starts take, a moving average */
};

create_t *create_new(const registry_parts_t *parts)
{
    create_t *self = mem_new(sizeof *self);

    self->parts = parts;
    self->end = &self->first;
    self->replacements = replacements_new(parts->table);
    return self;
}

/* Takes the first request out of the queue; the caller owns it. */
static waiting_t *take_first(create_t *self)
{
    waiting_t *first = self->first;

    self->first = first->next;
    if (!self->first)
        self->end = &self->first;
    self->count--;
    return first;
}

void create_destroy(create_t **self_p)
{
    create_t *self = *self_p;

    if (!self)
        return;
    while (self->first) {
        waiting_t *first = take_first(self);

        message_destroy(&first->request);
        free(first);
    }
    replacements_destroy(&self->replacements);
    free(self);
    *self_p = NULL;
}

size_t create_waiting(const create_t *self)
{
    return self->count + replacements_waiting(self->replacements);
}

void create_count_start(create_t *self, int64_t ms)
{
    double took = (double) ms;

    self->start_ms =
        self->start_ms > 0 ? self->start_ms * 0.9 + took * 0.1 : took;
}

/* Returns true if a member of the pool can be made into what was wished: its
 * folder and its ports are made, its kernel has its environment and limits. */
static bool fits_pool(json_t *content)
{
    return !json_object_get(content, "workspace")
           && !json_object_get(content, "connection_file")
           && !json_object_get(content, "transport")
           && !json_object_size(json_object_get(content, "environment"))
           && !json_object_get(content, "limits");
}

/* Returns the command by which a member is handed out; NULL, and sets the
 * fault, if the wishes are wrong. */
static session_command_t *make_hand(const registry_parts_t *parts,
                                    const profile_t *profile, json_t *content,
                                    const message_t *request, fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    const char *name = json_string_value(json_object_get(content, "name"));
    session_command_t *command;

    spec->profile = profile;
    if (session_factory_fill_wishes(parts->options, content, request, spec,
                                    fault)
        < 0)
        return NULL;
    command = session_command_new(SESSION_HAND, 0);
    command->hand =
        (session_hand_t){.name = mem_text(name),
                         .asker = mem_text(message_sender(request)),
                         .tools = take_ptr(spec->asked.tools),
                         .holder = spec->holder,
                         .idle_timeout_ms = spec->times.idle_timeout_ms,
                         .lifetime_ms = spec->times.lifetime_ms,
                         .cell_limit_ms = spec->times.cell_limit_ms,
                         .gone_keep_ms = parts->options->kept.gone_keep_ms,
                         .restarts = spec->restarts};
    return command;
}

/* Returns false, and leaves the request, if no member fits. */
static bool hand_out(create_t *self, const profile_t *profile, json_t *content,
                     message_t **request_p, int64_t asked_us)
{
    const registry_parts_t *parts = self->parts;
    session_entry_t *member =
        fits_pool(content) ? pool_find(parts->pool, profile) : NULL;
    session_command_t *command;
    uint64_t token;
    fault_t fault;

    if (!member
        || !(command = make_hand(parts, profile, content, *request_p, &fault)))
        return false;
    token = pending_requests_add_start(parts->pending, request_p, asked_us);
    command->token = token;
    mailbox_line_send(member->line, command);
    session_table_own(parts->table, member, token);
    if (json_is_string(json_object_get(content, "name")))
        session_table_rename(
            member, json_string_value(json_object_get(content, "name")));
    pool_leave(parts->pool, member);
    session_feed_report(parts->feed, member);
    pool_count_given(parts->pool, profile, true);
    pool_refill_soon(parts->pool);
    return true;
}

static void fork_one(create_t *self, json_t *content, message_t **request_p,
                     int64_t asked_us)
{
    const registry_parts_t *parts = self->parts;
    fault_t fault;
    session_entry_t *entry =
        session_factory_start(parts, content, *request_p, &fault);

    if (!entry) {
        management_answer(parts->management, request_p,
                          management_error("SessionNotStarted",
                                           GATEWAY_EXIT_FAILED, "%s",
                                           fault.text));
        return;
    }
    pool_count_given(parts->pool, entry->profile, false);
    entry->create_token =
        pending_requests_add_start(parts->pending, request_p, asked_us);
    launcher_launch(parts->launcher, entry);
}

static void wait_in_line(create_t *self, message_t **request_p)
{
    waiting_t *waiting = mem_new(sizeof *waiting);

    waiting->request = take_ptr(*request_p);
    waiting->asked_us = clock_monotonic_us();
    *self->end = waiting;
    self->end = &waiting->next;
    self->count++;
}

/* Returns after how many seconds the queue is empty, at the recent pace. */
static unsigned retry_after(const create_t *self)
{
    double ms = self->start_ms * (double) self->count
                / (double) self->parts->options->starts_max;

    return 1 + (unsigned) (ms / 1000);
}

/* Returns true if as many sessions are alive, or wait, as are permitted. */
static bool has_all_sessions(const create_t *self)
{
    return session_table_alive(self->parts->table) + self->count
           >= self->parts->options->sessions_max;
}

static json_t *describe_stop(void)
{
    return management_error("GatewayStopping", GATEWAY_EXIT_UNREACHABLE,
                            "the gateway stops; the session was not started");
}

void create_stop(create_t *self)
{
    message_t *request;

    while (self->first) {
        waiting_t *first = take_first(self);

        management_answer(self->parts->management, &first->request,
                          describe_stop());
        free(first);
    }
    while ((request = replacements_give_up(self->replacements)))
        management_answer(self->parts->management, &request, describe_stop());
}

static json_t *describe_busy(const create_t *self)
{
    unsigned seconds = retry_after(self);
    json_t *answer =
        management_error("GatewayBusy", GATEWAY_EXIT_FAILED,
                         "%zu sessions wait for their start already, the limit "
                         "gateway/starts_queue; try again in %u s",
                         self->count, seconds);

    json_object_set_new(answer, "retry_after", json_integer(seconds));
    return answer;
}

static void refuse(create_t *self, const message_t *request)
{
    const registry_parts_t *parts = self->parts;
    const char *limit = STATS_SESSIONS;
    json_t *answer;

    if (has_all_sessions(self)) {
        answer = management_error(
            "TooManySessions", GATEWAY_EXIT_FAILED,
            "%zu sessions are alive or wait for their start, the limit "
            "sessions/sessions_max; delete one or try again later",
            session_table_alive(parts->table) + self->count);
    } else if (!capacity_is_left(parts->capacity)) {
        answer = management_error(
            "TooManySessions", GATEWAY_EXIT_FAILED,
            "the descriptors that the gateway may have suffice for %zu "
            "sessions and viewers; raise RLIMIT_NOFILE (ulimit -n, "
            "LimitNOFILE=)",
            capacity_sessions(parts->capacity));
    } else {
        answer = describe_busy(self);
        limit = STATS_STARTS;
    }
    stats_limit(parts->stats, limit);
    management_reply(parts->management, request, answer);
}

static void make(create_t *self, json_t *content, message_t **request_p,
                 int64_t asked_us)
{
    const char *name = json_string_value(json_object_get(content, "profile"));
    const profile_t *profile = options_profile(self->parts->options, name);

    if (!profile || !hand_out(self, profile, content, request_p, asked_us))
        fork_one(self, content, request_p, asked_us);
}

void create_make(create_t *self, json_t *content, message_t **request_p)
{
    const registry_parts_t *parts = self->parts;
    cleanup_message message_t *request = take_ptr(*request_p);
    const char *name = json_string_value(json_object_get(content, "profile"));
    const profile_t *profile = options_profile(parts->options, name);
    bool is_full =
        session_table_starting(parts->table) >= parts->options->starts_max;
    bool has_member =
        profile && fits_pool(content) && pool_find(parts->pool, profile);

    capacity_forget_gone(parts->capacity);
    if (profile)
        pool_count_arrival(parts->pool, profile, clock_monotonic_ms());
    if (session_table_is_closing(parts->table)) {
        management_answer(parts->management, &request, describe_stop());
    } else if (replacements_take(self->replacements, content, &request)) {
        return;
    } else if (has_all_sessions(self)
               || (!capacity_is_left(parts->capacity) && !has_member)) {
        refuse(self, request);
    } else if (self->first || (is_full && !has_member)) {
        if (self->count >= parts->options->starts_queue)
            refuse(self, request);
        else
            wait_in_line(self, &request);
    } else {
        make(self, content, &request, clock_monotonic_us());
    }
}

static json_t *read_content(const message_t *request)
{
    bytes_t bytes = message_content(request);

    return json_loadb(bytes.bytes, bytes.size, 0, NULL);
}

/* Makes the sessions that waited for the end of older ones. */
static void make_replacements(create_t *self)
{
    message_t *request;

    while ((request = replacements_next(self->replacements))) {
        json_auto_t *content = read_content(request);

        create_make(self, content, &request);
    }
}

void create_next(create_t *self)
{
    const registry_parts_t *parts = self->parts;

    if (!session_table_is_closing(parts->table))
        make_replacements(self);
    while (self->first && !session_table_is_closing(parts->table)
           && session_table_starting(parts->table)
                  < parts->options->starts_max) {
        waiting_t *first = take_first(self);
        json_auto_t *content = read_content(first->request);

        make(self, content, &first->request, first->asked_us);
        free(first);
    }
}

static bool is_ready(void *arg, const profile_t *profile)
{
    const create_t *self = arg;

    return launcher_is_ready(self->parts->launcher, profile);
}

static bool is_busy(void *arg)
{
    const create_t *self = arg;

    return self->first || session_table_starting(self->parts->table);
}

static void make_ahead(void *arg)
{
    const create_t *self = arg;

    if (!prealloc_is_there(self->parts->prealloc))
        session_factory_prealloc(self->parts);
}

static int make_member(void *arg, const profile_t *profile, fault_t *fault)
{
    const create_t *self = arg;
    json_auto_t *content = json_pack("{s:s}", "profile", profile->name);
    session_entry_t *entry =
        session_factory_start(self->parts, content, NULL, fault);

    if (!entry)
        return -fault->code;
    pool_join(self->parts->pool, entry);
    launcher_launch(self->parts->launcher, entry);
    return 0;
}

const pool_source_t create_pool_source = {
    .is_ready = is_ready,
    .is_busy = is_busy,
    .prealloc = make_ahead,
    .make = make_member,
};
