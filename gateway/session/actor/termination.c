/* See termination.h. */
#include "gateway/session/actor/termination.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/session/actor/dispatch.h"
#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/core/activity.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/core/deletion.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/imported.h"
#include "gateway/session/core/monitoring.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/holder.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/lifecycle/workspace_owner.h"
#include "gateway/session/limits/backpressure.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/processes/process_control.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/seed_runner.h"
#include "gateway/session/tools/host_tools.h"
#include "gateway/session/tools/tool_requests.h"

#include <jansson.h>

#include <errno.h>
#include <unistd.h>

#define LAST_READS_MAX 64 /* of the kernel's last output */

/* ---- the launch ---- */

/* Replaces control characters: the last text of the payload was not checked
 * before. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char) *text < ' ' || (unsigned char) *text > '~')
            *text = '?';
}

void termination_read_status(session_t *self)
{
    fault_t fault;

    if (!kernel_link_read_status(self->link, &fault))
        return;
    /* The environment was replaced on disk: the zygote is out of date. */
    if (fault.code == ESTALE) {
        notify_report(self->notify, SESSION_STALE);
        stop_repeat_launch(self);
    }
    fault.text[sizeof fault.text - 1] = '\0';
    make_plain(fault.text);
    stop_begin(self, END_REASON_LAUNCH, "%s", fault.text);
}

/* ---- the tombstone ---- */

void termination_on_tombstone(void *session)
{
    session_t *self = session;

    notify_report(self->notify, SESSION_REMOVED);
}

void termination_keep_tombstone(session_t *self, int64_t keep_ms)
{
    timers_start(self->timers, TIMER_TOMBSTONE, keep_ms);
    journal_rest(self->journal);
}

/* Notes the end of the kernel, by which its variables are lost; takes what is
 * known of it. */
static void note_end(session_t *self, const char *type, json_t *known)
{
    json_auto_t *object = known;
    cleanup_free char *text = json_dumps(object, JSON_COMPACT);
    fault_t fault;

    if (publisher_note(self->publisher, type, 0, text, &fault) < 0)
        log_error("session=%s journal: %s", self->spec->id, fault.text);
}

static void note(session_t *self, const char *type)
{
    const kernel_end_t *end = kernel_link_end(self->link);

    note_end(self, type,
             json_pack("{s:s,s:s,s:I,s:I}", "reason",
                       end_reason_name(self->cause.reason), "detail",
                       self->cause.detail, "cpu_ms", (json_int_t) end->cpu_ms,
                       "maxrss_kib", (json_int_t) end->maxrss_kib));
}

void termination_note_lost(session_t *self)
{
    const session_spec_t *spec = self->spec;

    note_end(self, "gone",
             json_pack("{s:s,s:s}", "reason", spec->end.reason, "detail",
                       spec->end.detail ? spec->end.detail : ""));
}

/* Removes the sockets of the kernel, at which no process listens any more. */
static void remove_kernel_sockets(const session_t *self)
{
    static const char *const names[] = {"link.sock", "init.sock"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path =
            mem_format("%s/%s", self->spec->runtime_folder, names[i]);
        (void) unlink(path);
    }
}

static void write_tombstone(session_t *self)
{
    session_spec_t *spec = self->spec;

    snprintf(spec->end.reason, sizeof spec->end.reason, "%s",
             end_reason_name(self->cause.reason));
    free(spec->end.detail);
    spec->end.detail = mem_text(self->cause.detail);
    spec->end.ended_us = clock_wall_us();
    spec->process.pid = 0;
    spec->holder = (holder_id_t){0};
}

static void end_tool_waits(session_t *self)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    replies_write_gone(self, &name, &sentence);
    tool_requests_end(self, (const char *) sentence.data);
}

static void leave_tombstone(session_t *self)
{
    session_spec_t *spec = self->spec;

    self->clocks.launched = 0;
    session_state_step(self->state, STATE_ON_BURY);
    remove_kernel_sockets(self);
    note(self, "gone");
    write_tombstone(self);
    end_tool_waits(self);
    /* A connection file that was given keeps its ports for the next kernel, so
     * the session answers no client that waits for one. */
    if (!spec->is_external)
        holder_forget(self->holder);
    timers_stop(self->timers, TIMER_IDLE);
    timers_stop(self->timers, TIMER_LIFETIME);
    (void) persist_now(self);
    workspace_owner_end(spec);
    announce_latency(self);
    /* First: a client that learns of the end may have the registry revive the
     * session. */
    notify_gone(self->notify, spec->end.reason, spec->end.detail);
    deletion_answer(self);
    publisher_status(self->publisher, "dead", (bytes_t){0});
    /* The ports of `hearth kernel` belong to its launcher, which may need them
     * for the next kernel at once. */
    termination_keep_tombstone(self, spec->is_external || spec->is_pooled
                                         ? 1
                                         : spec->times.gone_keep_ms);
}

/* ---- a fresh kernel ---- */

static bool is_repeated(const session_t *self)
{
    return session_state_sequel(self->state) == SEQUEL_REPEAT;
}

void termination_relaunch(session_t *self)
{
    /* A client takes this for the death of a kernel. A client that asked for a
     * restart has its answer, and one that waits for the first kernel has seen
     * none. */
    if (self->cause.reason != END_REASON_DELETED && !is_repeated(self))
        publisher_status(self->publisher, "restarting", (bytes_t){0});
    publisher_new_kernel(self->publisher);
    publisher_status(self->publisher, "starting", (bytes_t){0});
    if (!is_repeated(self))
        self->clocks.launched = 0;
    session_state_step(self->state, STATE_ON_RELAUNCH);
    kernel_link_reset(self->link);
    output_limit_reset(self->limits.output);
    self->cause = (end_cause_t){0};
    seed_runner_stop(self->start.seed);
    request_queue_set_next_count(self->requests, 1);
    buffer_clear(&self->info);
    activity_touch(self);
    notify_report(self->notify, SESSION_LAUNCH);
}

static void go_on(session_t *self)
{
    /* So that no other gateway takes the old process for the fresh one. */
    self->spec->process.pid = 0;
    (void) persist_now(self);
    if (!is_repeated(self))
        note(self, "restart");
    termination_relaunch(self);
}

/* ---- the end ---- */

static void explain(session_t *self)
{
    if (self->cause.reason != END_REASON_NONE)
        return;
    if (!monitoring_explain(self)) {
        end_cause_explain(&self->cause, kernel_link_end(self->link),
                          resource_monitor_group(self->limits.monitor) != NULL);
        return;
    }
    if (audit_events_stop(self->audit, &self->cause)
        && !output_limit_is_over(self->limits.output))
        notify_limit(self->notify, end_reason_name(self->cause.reason));
}

/* Reads the kernel's last output, which still counts. */
static void read_last_words(session_t *self)
{
    if (!session_kernel(self))
        return;
    backpressure_ignore(self->limits.backpressure, true);
    if (self->cause.reason != END_REASON_PROTOCOL
        && session_state_is_greeted(self->state))
        for (int i = 0;
             i < LAST_READS_MAX && kernel_link_is_connected(self->link); i++)
            kernel_events_read(self);
    backpressure_ignore(self->limits.backpressure, false);
    kernel_link_read_end(self->link);
    kernel_link_unwatch(self->link);
}

static void stop_timers(session_t *self)
{
    timers_stop(self->timers, TIMER_CELL);
    timers_stop(self->timers, TIMER_READY);
    timers_stop(self->timers, TIMER_SEED);
    timers_stop(self->timers, TIMER_JOURNAL);
}

/* Reports the end to the audit log and the clients. */
static void report(session_t *self)
{
    const request_t *running = request_queue_running(self->requests);
    session_sequel_t sequel = session_state_sequel(self->state);

    log_notice("session=%s kernel ended reason=%s detail=\"%s\"",
               self->spec->id, end_reason_name(self->cause.reason),
               self->cause.detail);
    if (running && request_is_execute(running) && !request_is_seed(running))
        audit_events_cell_lost(self->audit, running);
    if (!self->spec->is_pooled && sequel != SEQUEL_REPEAT) {
        announce_start(self);
        audit_events_end(self->audit, &self->cause,
                         kernel_link_end(self->link));
    }
    /* Requests before a restart were answered when it was asked for; later ones
     * are for the fresh kernel. */
    if (sequel != SEQUEL_RESTART && sequel != SEQUEL_REPEAT)
        replies_fail_for_end(self, UINT64_MAX);
}

void termination_finish(session_t *self)
{
    if (session_state_is(self->state, PHASE_GONE)
        || session_state_awaits_answer(self->state))
        return;
    /* Subscribers that need to receive it are not back yet. */
    if (session_state_is_held(self->state)) {
        session_state_step(self->state, STATE_ON_END_HELD);
        kernel_link_unwatch(self->link);
        return;
    }
    termination_read_status(self);
    kernel_link_forget_status(self->link);
    stop_timers(self);
    read_last_words(self);
    stop_end_waiting(self);
    explain(self);
    host_tools_end_all(self);
    imported_give_up(self);
    report(self);
    kernel_link_close(self->link);
    process_control_end_all(self);
    monitoring_end(self);
    session_state_step(self->state, STATE_ON_EXIT);
    escalation_end(self, "killed", "lost");
    if (stop_wants_relaunch(self))
        go_on(self);
    else
        leave_tombstone(self);
    dispatch_settle(self);
}

void termination_on_stop(void *session)
{
    session_t *self = session;

    if (session_state_awaits_answer(self->state))
        session_state_step(self->state, STATE_ON_GIVE_UP);
    termination_finish(self);
}
