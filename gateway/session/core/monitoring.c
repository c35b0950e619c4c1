/* See monitoring.h. */
#include "gateway/session/core/monitoring.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/requests/request_queue.h"
#include "protocol/jspan_write.h"
#include "protocol/reply_metadata.h"

#include <inttypes.h>
#include <string.h>

void monitoring_begin(session_t *self, const char *name)
{
    resource_monitor_begin(self->limits.monitor, name);
    timers_start(self->timers, TIMER_RESOURCES,
                 resource_monitor_base_ms(self->limits.monitor));
}

void monitoring_adopt(session_t *self)
{
    resource_monitor_adopt(self->limits.monitor);
    timers_start(self->timers, TIMER_RESOURCES,
                 resource_monitor_base_ms(self->limits.monitor));
}

void monitoring_end(session_t *self)
{
    cleanup_free char *left = resource_monitor_end(self->limits.monitor);

    timers_stop(self->timers, TIMER_RESOURCES);
    if (left)
        notify_left(self->notify, left);
}

static void note(session_t *self, const buffer_t *content)
{
    fault_t fault;

    if (publisher_note(self->publisher, "limit", 0,
                       (const char *) content->data, &fault)
        < 0)
        log_error("session=%s journal: %s", self->spec->id, fault.text);
}

static void note_refusals(session_t *self, const resource_verdict_t *verdict)
{
    uint64_t max = self->spec->limits.processes;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    if (!verdict->refused)
        return;
    jspan_write_begin(&content);
    jspan_write_text(&content, "limit", "processes");
    jspan_write_count(&content, "max", max);
    jspan_write_count(&content, "refused", verdict->refused);
    jspan_write_integer(&content, "cell",
                        request_queue_next_count(self->requests));
    jspan_write_end(&content);
    announce_limit(self, "processes", max);
    note(self, &content);
    log_notice("session=%s limit=processes max=%" PRIu64, self->spec->id, max);
}

/* Announces that the journal has begun to remove outputs to keep its bound.
 * Each gap is also recorded in its place. */
static void note_journal(session_t *self)
{
    uint64_t max = self->spec->limits.journal_bytes;

    if (!resource_monitor_note_journal(self->limits.monitor,
                                       journal_compactions(self->journal)))
        return;
    announce_limit(self, "journal_bytes", max);
    log_notice("session=%s limit=journal_bytes max=%" PRIu64, self->spec->id,
               max);
}

static int64_t running_cell(const session_t *self)
{
    return request_queue_runs_cell(self->requests)
               ? request_queue_next_count(self->requests)
               : 0;
}

/* Closes descriptors of an idle session, so that busy ones can have them. */
static void rest(session_t *self)
{
    journal_rest(self->journal);
    resource_monitor_rest(self->limits.monitor);
}

void monitoring_on_timer(void *session)
{
    session_t *self = session;
    int64_t begun = clock_monotonic_ms();
    resource_verdict_t verdict;
    bool is_quiet;
    int64_t next;

    if (session_state_is(self->state, PHASE_GONE)
        || session_state_is(self->state, PHASE_STOPPING)
        || !session_kernel(self))
        return;
    note_journal(self);
    resource_monitor_look(self->limits.monitor,
                          kernel_pid(session_kernel(self)), running_cell(self),
                          &verdict);
    note_refusals(self, &verdict);
    if (verdict.reason != END_REASON_NONE) {
        stop_begin(self, verdict.reason, "%s", verdict.text);
        return;
    }
    is_quiet = verdict.is_quiet && session_state_is(self->state, PHASE_IDLE);
    next = resource_monitor_pace(self->limits.monitor,
                                 clock_monotonic_ms() - begun, is_quiet);
    if (is_quiet && next >= RESOURCE_MONITOR_REST_MS)
        rest(self);
    timers_start(self->timers, TIMER_RESOURCES, next);
}

bool monitoring_explain(session_t *self)
{
    resource_verdict_t verdict;

    resource_monitor_explain(self->limits.monitor, kernel_link_end(self->link),
                             running_cell(self), &verdict);
    note_refusals(self, &verdict);
    note_journal(self);
    if (verdict.reason == END_REASON_NONE)
        return false;
    end_cause_set(&self->cause, verdict.reason, "%s", verdict.text);
    return true;
}

void monitoring_cell_begin(session_t *self)
{
    if (resource_monitor_hurry(self->limits.monitor))
        timers_start(self->timers, TIMER_RESOURCES,
                     resource_monitor_base_ms(self->limits.monitor));
    resource_monitor_cell_begin(self->limits.monitor, clock_monotonic_ms());
}

void monitoring_apply(session_t *self, jspan_t metadata, int64_t cell)
{
    reply_metadata_limit_t limits[SESSION_LIMIT_COUNT];
    size_t count = reply_metadata_limits(metadata, limits);

    for (size_t i = 0; i < count; i++) {
        const reply_metadata_limit_t *limit = &limits[i];
        cleanup_buffer buffer_t content = BUFFER_EMPTY;

        /* The group itself counts processes. */
        if (resource_monitor_group(self->limits.monitor)
            && strcmp(limit->name, "processes") == 0)
            continue;
        jspan_write_begin(&content);
        jspan_write_text(&content, "limit", limit->name);
        jspan_write_integer(&content, "max", limit->max);
        jspan_write_integer(&content, "used", limit->used);
        jspan_write_integer(&content, "cell", cell);
        jspan_write_text(&content, "said_by", "kernel");
        jspan_write_end(&content);
        notify_limit(self->notify, limit->name);
        audit_events_limit_said(self->audit, limit->name,
                                (uint64_t) limit->used, (uint64_t) limit->max);
        note(self, &content);
    }
}
