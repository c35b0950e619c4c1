/* See session_events.h. A table of events
 * (gateway/session/lifecycle/messages.h). Lives in the main thread. */
#include "gateway/registry/main/session_events.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/config/state_files.h"
#include "gateway/files/actor.h"
#include "gateway/registry/api/management_api.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/session_discovery.h"
#include "gateway/registry/core/session_feed.h"
#include "gateway/registry/downloads/fetch_jobs.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "gateway/registry/launch/cgroup_sweep.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/registry/tools/tool_servers.h"
#include "gateway/session/tools/tool_offer.h"

#include <stdlib.h>
#include <string.h>

/* Ends the session's start, successful or not, which makes room for the next
 * one. */
static void end_start(const registry_parts_t *parts,
                      const session_entry_t *entry)
{
    int64_t now_ms = clock_monotonic_ms();

    if (entry->is_pooled)
        pool_on_started(parts->pool, entry, now_ms);
    create_count_start(parts->create, now_ms - entry->started_ms);
    create_next(parts->create);
    pool_refill_soon(parts->pool);
}

static void on_answered(const registry_parts_t *parts, session_entry_t *entry,
                        session_report_t *event)
{
    responses_came(&entry->response, json_object_get(event->answer, "session"));
    pending_requests_answer(parts->pending, event->token,
                            take_ptr(event->answer), clock_monotonic_ms());
}

static void on_handed(const registry_parts_t *parts, session_entry_t *entry,
                      session_report_t *event)
{
    (void) entry;
    pending_requests_started(parts->pending, event->token,
                             clock_monotonic_us());
}

static void on_limit(const registry_parts_t *parts, session_entry_t *entry,
                     session_report_t *event)
{
    (void) entry;
    stats_limit(parts->stats, event->text);
}

static void on_latency(const registry_parts_t *parts, session_entry_t *entry,
                       session_report_t *event)
{
    (void) entry;
    stats_round_trips(parts->stats, &event->latency);
}

static void on_call(const registry_parts_t *parts, session_entry_t *entry,
                    session_report_t *event)
{
    if (strcmp(event->call.provider, TOOL_FETCH) == 0)
        fetch_jobs_call(parts->downloads.fetches, entry, &event->call);
    else if (tool_offer_is_gateways(event->call.provider))
        packages_jobs_call(parts->downloads.packages, entry, &event->call);
    else
        tool_servers_call(parts->tool_servers, entry, &event->call);
}

static void on_launch(const registry_parts_t *parts, session_entry_t *entry,
                      session_report_t *event)
{
    (void) event;
    launcher_launch(parts->launcher, entry);
}

static void on_stale(const registry_parts_t *parts, session_entry_t *entry,
                     session_report_t *event)
{
    (void) event;
    launcher_on_stale(parts->launcher, entry);
}

/* Answers the request that waits for the session. A session that does not know
 * its process yet is asked for its description. */
static void on_ready(const registry_parts_t *parts, session_entry_t *entry,
                     session_report_t *event)
{
    bool was_starting = entry->state == SESSION_ENTRY_STARTING;
    uint64_t token = entry->create_token;

    entry->create_token = 0;
    session_table_set_ready(parts->table, entry);
    session_discovery_follow(parts, entry);
    if (token)
        pending_requests_started(parts->pending, token, clock_monotonic_us());
    if (token && event->answer)
        pending_requests_answer(parts->pending, token, take_ptr(event->answer),
                                clock_monotonic_ms());
    else if (token)
        mailbox_line_send(entry->line,
                          session_command_new(SESSION_SHOW, token));
    if (was_starting)
        end_start(parts, entry);
}

static void count_gone(const registry_parts_t *parts, session_entry_t *entry)
{
    bool was_starting = entry->state == SESSION_ENTRY_STARTING;

    if (session_table_set_gone(parts->table, entry, clock_monotonic_ms()))
        files_unwatch(parts->files, entry->id);
    packages_jobs_on_gone(parts->downloads.packages, entry->id);
    fetch_jobs_on_gone(parts->downloads.fetches, entry->id);
    session_feed_report(parts->feed, entry);
    session_discovery_follow(parts, entry);
    launcher_unpark(parts->launcher, entry);
    launch_users_release(parts->users, entry);
    cgroup_sweep_run_soon(parts->sweep);
    if (was_starting)
        end_start(parts, entry);
    capacity_forget_gone(parts->capacity);
}

/* Gives the client another session if a pool member ended in the moment when it
 * was handed out. Otherwise nothing happens. */
static void give_another(const registry_parts_t *parts, session_entry_t *entry)
{
    json_auto_t *content = NULL;
    cleanup_message message_t *request =
        pending_requests_take_back(parts->pending, entry->hand_token, &content);

    entry->hand_token = 0;
    if (!request)
        return;
    if (entry->state == SESSION_ENTRY_READY)
        session_table_set_waiting(parts->table, entry);
    session_table_disown(parts->table, entry);
    session_feed_report(parts->feed, entry);
    session_discovery_follow(parts, entry);
    create_again(parts->create, content, &request);
}

static void on_spent(const registry_parts_t *parts, session_entry_t *entry,
                     session_report_t *event)
{
    (void) event;
    give_another(parts, entry);
}

static void fail_start(const registry_parts_t *parts, session_entry_t *entry,
                       const char *why)
{
    pending_requests_fail(parts->pending, entry->create_token,
                          "SessionNotStarted", GATEWAY_EXIT_FAILED, why);
    entry->create_token = 0;
}

static void on_gone(const registry_parts_t *parts, session_entry_t *entry,
                    session_report_t *event)
{
    if (!entry->is_pooled && !session_entry_is_gone(entry))
        stats_end(parts->stats, event->gone.reason);
    count_gone(parts, entry);
    give_another(parts, entry);
    fail_start(parts, entry, event->gone.detail);
}

/* Removes the session and its resources. */
static void remove_entry(const registry_parts_t *parts, session_entry_t *entry)
{
    cleanup_free char *id = mem_text(entry->id);
    cleanup_free char *runtime_folder = mem_text(entry->runtime_folder);
    cleanup_free char *state_folder =
        session_state_folder(parts->options->state_dir, id);
    bool is_pooled = entry->is_pooled;
    fault_t fault;

    launcher_forget(parts->launcher, entry);
    launch_users_release(parts->users, entry);
    pool_leave(parts->pool, entry);
    cgroup_sweep_run_soon(parts->sweep);
    session_table_remove(parts->table, &entry);
    (void) path_remove_tree(runtime_folder, &fault);
    /* No client ever had a session that ended in the pool. */
    if (is_pooled)
        (void) path_remove_tree(state_folder, &fault);
    management_api_redo(parts->management_api, id);
    create_next(parts->create);
}

/* Has the group of a kernel that has ended removed. Its session may live on, so
 * a search for groups of gone sessions would not find it. */
static void on_left(const registry_parts_t *parts, session_entry_t *entry,
                    session_report_t *event)
{
    (void) entry;
    cgroup_sweep_take(parts->sweep, event->text);
}

static void on_broken(const registry_parts_t *parts, session_entry_t *entry,
                      session_report_t *event)
{
    count_gone(parts, entry);
    fail_start(parts, entry, event->text);
    remove_entry(parts, entry);
}

/* Removes a session, unless it is being revived: then it reported its removal
 * before it heard of that. One whose packages are read or changed reports it
 * again after that. */
static void on_removed(const registry_parts_t *parts, session_entry_t *entry,
                       session_report_t *event)
{
    (void) event;
    if (entry->create_token)
        return;
    entry->is_expired = packages_jobs_has(parts->downloads.packages, entry->id);
    if (entry->is_expired)
        return;
    count_gone(parts, entry);
    remove_entry(parts, entry);
}

static void on_drained(const registry_parts_t *parts, session_entry_t *entry,
                       session_report_t *event)
{
    (void) event;
    session_table_set_drained(parts->table, entry);
}

static void (*const handlers[SESSION_REPORTS])(const registry_parts_t *parts,
                                               session_entry_t *entry,
                                               session_report_t *event) = {
    [SESSION_ANSWERED] = on_answered, [SESSION_READY] = on_ready,
    [SESSION_HANDED] = on_handed,     [SESSION_LIMIT] = on_limit,
    [SESSION_LATENCY] = on_latency,   [SESSION_LAUNCH] = on_launch,
    [SESSION_CALL] = on_call,         [SESSION_STALE] = on_stale,
    [SESSION_SPENT] = on_spent,       [SESSION_LEFT] = on_left,
    [SESSION_GONE] = on_gone,         [SESSION_BROKEN] = on_broken,
    [SESSION_REMOVED] = on_removed,   [SESSION_DRAINED] = on_drained,
};

void session_events_take(const registry_parts_t *parts, session_entry_t *entry,
                         session_report_t **event_p)
{
    cleanup_session_report session_report_t *event = take_ptr(*event_p);

    handlers[event->kind](parts, entry, event);
}
