/* See create.h. A few sessions at a time are forked; requests beyond that wait
 * in a queue. So does a request that replaces an older session, until that one
 * is gone. Requests are refused when the queue is full. Those that wait for the
 * packages of their profile (package_wait.h) are judged again when they go
 * on. */
#include "gateway/registry/sessions/create.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/closing.h"
#include "gateway/registry/core/create_queue.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/replacements.h"
#include "gateway/registry/core/session_discovery.h"
#include "gateway/registry/core/session_feed.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/sessions/package_wait.h"
#include "gateway/registry/sessions/session_factory.h"

#include <stdlib.h>

struct create {
    const registry_parts_t *parts; /* borrowed */
    create_queue_t *queue;         /* owned */
    double start_ms;               /* how long starts take, a moving average */
};

create_t *create_new(const registry_parts_t *parts)
{
    create_t *self = mem_new(sizeof *self);

    self->parts = parts;
    self->queue = create_queue_new(parts->table);
    return self;
}

void create_destroy(create_t **self_p)
{
    create_t *self = *self_p;

    if (!self)
        return;
    create_queue_destroy(&self->queue);
    free(self);
    *self_p = NULL;
}

size_t create_waiting(const create_t *self)
{
    return create_queue_size(self->queue);
}

void create_count_start(create_t *self, int64_t ms)
{
    double took = (double) ms;

    self->start_ms =
        self->start_ms > 0 ? self->start_ms * 0.9 + took * 0.1 : took;
}

/* Returns true if a kernel of the pool can have the session's own rules for
 * downloads. Wrong ones are refused where a session is made. */
static bool fits_rules(const profile_t *profile, const json_t *content)
{
    cleanup_download_wishes download_wishes_t wishes = {0};
    fault_t ignored;

    return download_wishes_read(profile, content, &wishes, &ignored) == 0
           && download_rules_fit_kernel(profile, &wishes);
}

/* Returns true if a member of the pool can fulfil the wishes: its folder and
 * its ports are made, its kernel has its environment and limits. */
static bool fits_pool(const profile_t *profile, json_t *content)
{
    return fits_rules(profile, content)
           && !json_object_get(content, "workspace")
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
                         .downloads = spec->asked.downloads,
                         .holder = spec->holder,
                         .idle_timeout_ms = spec->times.idle_timeout_ms,
                         .lifetime_ms = spec->times.lifetime_ms,
                         .cell_limit_ms = spec->times.cell_limit_ms,
                         .gone_keep_ms = parts->options->kept.gone_keep_ms,
                         .restarts = spec->restarts};
    spec->asked.downloads = (download_wishes_t){0};
    return command;
}

/* Returns false, and leaves the request, if no member fits. */
static bool hand_out(create_t *self, const profile_t *profile, json_t *content,
                     message_t **request_p, int64_t asked_us)
{
    const registry_parts_t *parts = self->parts;
    session_entry_t *member =
        fits_pool(profile, content) ? pool_find(parts->pool, profile) : NULL;
    session_command_t *command;
    uint64_t token;
    fault_t fault;

    if (!member
        || !(command = make_hand(parts, profile, content, *request_p, &fault)))
        return false;
    token = pending_requests_add_start(parts->pending, content, request_p,
                                       asked_us);
    command->token = token;
    session_table_set_rules(member, &command->hand.downloads);
    mailbox_line_send(member->line, command);
    session_table_own(parts->table, member, token);
    if (json_is_string(json_object_get(content, "name")))
        session_table_rename(
            member, json_string_value(json_object_get(content, "name")));
    pool_leave(parts->pool, member);
    session_feed_report(parts->feed, member);
    session_discovery_follow(parts, member);
    pool_count_given(parts->pool, profile, true);
    pool_refill_soon(parts->pool);
    return true;
}

static void refuse_start(const create_t *self, message_t **request_p,
                         const fault_t *fault)
{
    management_answer(self->parts->management, request_p,
                      management_error("SessionNotStarted", GATEWAY_EXIT_FAILED,
                                       "%s", fault->text));
}

static void fork_one(create_t *self, json_t *content, message_t **request_p,
                     int64_t asked_us)
{
    const registry_parts_t *parts = self->parts;
    fault_t fault;
    session_entry_t *entry =
        session_factory_start(parts, content, *request_p, &fault);

    if (!entry) {
        refuse_start(self, request_p, &fault);
        return;
    }
    pool_count_given(parts->pool, entry->profile, false);
    entry->create_token =
        pending_requests_add_start(parts->pending, NULL, request_p, asked_us);
    launcher_launch(parts->launcher, entry);
}

void create_stop(create_t *self)
{
    message_t *request;

    while ((request = create_queue_give_up(self->queue)))
        management_answer(self->parts->management, &request, closing_refusal());
}

static json_t *describe_all(size_t sessions)
{
    return management_error("TooManySessions", GATEWAY_EXIT_FAILED,
                            "%zu sessions are alive or wait for their start, "
                            "the limit sessions/sessions_max; delete one or "
                            "try again later",
                            sessions);
}

static json_t *describe_descriptors(const create_t *self)
{
    return management_error("TooManySessions", GATEWAY_EXIT_FAILED,
                            "the descriptors that the gateway may have suffice "
                            "for %zu sessions and viewers; raise RLIMIT_NOFILE "
                            "(ulimit -n, LimitNOFILE=)",
                            capacity_sessions(self->parts->capacity));
}

static json_t *describe_busy(const create_t *self, size_t waiting)
{
    const options_t *options = self->parts->options;
    double ms = self->start_ms * (double) waiting
                / (double) options->capacity.starts_max;
    unsigned seconds = 1 + (unsigned) (ms / 1000); /* at the recent pace */
    json_t *answer =
        management_error("GatewayBusy", GATEWAY_EXIT_FAILED,
                         "%zu sessions wait for their start already, the limit "
                         "gateway/starts_queue; try again in %u s",
                         waiting, seconds);

    json_object_set_new(answer, "retry_after", json_integer(seconds));
    return answer;
}

/* Refuses a request by `answer`, which is taken, and counts `limit`, one of
 * those in stats.h. */
static void refuse(create_t *self, message_t **request_p, const char *limit,
                   json_t *answer)
{
    stats_limit(self->parts->stats, limit);
    management_answer(self->parts->management, request_p, answer);
}

/* Refuses the request, and returns true, if as many wait as may. The first that
 * replaces a session needs no room in the queue: there are no more of these
 * than sessions. */
static bool refuse_line(create_t *self, const session_entry_t *older,
                        message_t **request_p)
{
    size_t waiting = create_waiting(self);

    if (waiting < self->parts->options->capacity.starts_queue
        || (older && !create_queue_awaits(self->queue, older)))
        return false;
    refuse(self, request_p, STATS_STARTS, describe_busy(self, waiting));
    return true;
}

/* Refuses the request, and returns true, if it would be refused after it has
 * waited, too. */
static bool refuse_wrong(create_t *self, json_t *content, message_t **request_p)
{
    fault_t fault;

    if (session_factory_check(self->parts, content, *request_p, &fault) == 0)
        return false;
    refuse_start(self, request_p, &fault);
    return true;
}

static const profile_t *find_profile(const create_t *self,
                                     const json_t *content)
{
    const char *name = json_string_value(json_object_get(content, "profile"));

    return options_profile(self->parts->options, name);
}

static package_wait_fn go_on;

/* Has the request wait until the profile's packages are made. */
static void hold(create_t *self, json_t *content, message_t **request_p,
                 int64_t asked_us)
{
    const profile_t *profile = find_profile(self, content);

    if (!refuse_wrong(self, content, request_p))
        package_wait_hold(self->parts->package_wait, profile, content,
                          request_p, asked_us, go_on);
}

static void make(create_t *self, json_t *content, message_t **request_p,
                 int64_t asked_us)
{
    const profile_t *profile = find_profile(self, content);
    json_t *refusal =
        profile ? package_wait_refusal(self->parts, profile) : NULL;

    if (refusal)
        management_answer(self->parts->management, request_p, refusal);
    else if (profile && package_wait_is_due(self->parts, profile))
        hold(self, content, request_p, asked_us);
    else if (!profile || !hand_out(self, profile, content, request_p, asked_us))
        fork_one(self, content, request_p, asked_us);
}

/* Returns how many sessions are alive or wait for their start. */
static size_t count_sessions(const create_t *self)
{
    return session_table_alive(self->parts->table)
           + create_queue_sessions(self->queue);
}

/* Returns true if there is no room for a session more. */
static bool lacks_room(const create_t *self)
{
    const registry_parts_t *parts = self->parts;

    return count_sessions(self) >= parts->options->capacity.sessions_max
           || !capacity_is_left(parts->capacity);
}

/* Refuses the request, and returns true, if no session can be had now. One that
 * replaces an older session takes the place of that. */
static bool refuse_now(create_t *self, const profile_t *profile,
                       bool needs_no_place, bool has_member,
                       message_t **request_p)
{
    const registry_parts_t *parts = self->parts;
    size_t sessions = count_sessions(self);
    json_t *refusal = profile ? package_wait_refusal(parts, profile) : NULL;

    if (session_table_is_closing(parts->table)) {
        json_decref(refusal);
        refusal = closing_refusal();
    }
    if (refusal)
        management_answer(parts->management, request_p, refusal);
    else if (needs_no_place)
        return false;
    else if (sessions >= parts->options->capacity.sessions_max)
        refuse(self, request_p, STATS_SESSIONS, describe_all(sessions));
    else if (!capacity_is_left(parts->capacity) && !has_member)
        refuse(self, request_p, STATS_SESSIONS, describe_descriptors(self));
    else
        return false;
    return true;
}

/* Gives a request a session, or a place in a queue, or refuses it.
 * `has_waited`: it has waited for the packages of its profile, and had its room
 * in the queue then. */
static void admit(create_t *self, json_t *content, message_t **request_p,
                  int64_t asked_us, bool has_waited)
{
    const registry_parts_t *parts = self->parts;
    const profile_t *profile = find_profile(self, content);
    const session_entry_t *older = replacements_find(parts->table, content);
    bool is_full = session_table_starting(parts->table)
                   >= parts->options->capacity.starts_max;
    bool has_member = profile && fits_pool(profile, content)
                      && pool_find(parts->pool, profile);

    capacity_forget_gone(parts->capacity);
    if (refuse_now(self, profile, older != NULL, has_member, request_p))
        return;
    if (profile && package_wait_is_due(parts, profile))
        hold(self, content, request_p, asked_us);
    else if (!older && !create_queue_has_line(self->queue)
             && (!is_full || has_member))
        make(self, content, request_p, asked_us);
    else if ((has_waited || !refuse_line(self, older, request_p))
             && !refuse_wrong(self, content, request_p))
        create_queue_add(self->queue, content, request_p, older, asked_us);
}

/* Takes a request that has waited for its profile. */
static void go_on(const registry_parts_t *parts, json_t *content,
                  message_t **request_p, int64_t asked_us)
{
    admit(parts->create, content, request_p, asked_us, true);
}

void create_again(create_t *self, json_t *content, message_t **request_p)
{
    cleanup_message message_t *request = take_ptr(*request_p);

    admit(self, content, &request, clock_monotonic_us(), false);
}

void create_make(create_t *self, json_t *content, message_t **request_p)
{
    const registry_parts_t *parts = self->parts;
    const profile_t *profile = find_profile(self, content);

    /* The client may know of an end that is not read yet. Here alone: a report
     * that is taken may make another session (create_again). */
    if (lacks_room(self))
        parts->ops->catch_up(parts->arg);
    if (profile)
        pool_count_arrival(parts->pool, profile, clock_monotonic_ms());
    create_again(self, content, request_p);
}

void create_next(create_t *self)
{
    const registry_parts_t *parts = self->parts;

    while (!session_table_is_closing(parts->table)
           && session_table_starting(parts->table)
                  < parts->options->capacity.starts_max) {
        json_auto_t *content = NULL;
        int64_t asked_us;
        cleanup_message message_t *request =
            create_queue_next(self->queue, &content, &asked_us);

        if (!request)
            return;
        make(self, content, &request, asked_us);
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

    return create_queue_has_line(self->queue)
           || session_table_starting(self->parts->table);
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
