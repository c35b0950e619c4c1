/* See announce.h. */
#include "gateway/session/core/announce.h"

#include "gateway/frontends/frontends.h"
#include "gateway/session/core/activity.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/core/loss_notice.h"
#include "gateway/session/core/loss_report.h"
#include "gateway/session/core/session_info.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/resource_monitor.h"

#include <jansson.h>

#define START_MS 5 /* a client in a hurry has sent a request by then */

static json_t *describe_created(const session_t *self)
{
    return json_pack("{s:s,s:o}", "status", "ok", "session",
                     session_info_of(self));
}

void announce_created(session_t *self, uint64_t token)
{
    notify_answer(self->notify, token, describe_created(self));
}

/* Returns the description, which has what is lost if the session is gone. */
static json_t *describe_whole(const session_t *self)
{
    json_t *model = session_info_measured(self);
    json_t *lost = session_state_is(self->state, PHASE_GONE)
                       ? loss_notice_last(self->losses)
                       : NULL;

    if (lost)
        json_object_set_new(model, "lost", lost);
    return model;
}

void announce_to(session_t *self, uint64_t token, const char *identity)
{
    json_t *model = describe_whole(self);
    json_t *loss = identity ? loss_report_model(self, identity) : NULL;

    if (loss)
        json_object_set_new(model, "unreported", loss);
    notify_answer(self->notify, token,
                  json_pack("{s:s,s:o}", "status", "ok", "session", model));
}

void announce_session(session_t *self, uint64_t token)
{
    announce_to(self, token, NULL);
}

static char *describe_text(const session_t *self)
{
    json_auto_t *model = session_info_measured(self);

    return json_dumps(model, JSON_COMPACT);
}

void announce_greet(session_t *self, const char *frontend)
{
    cleanup_free char *text = describe_text(self);

    frontends_greet(self->frontends, frontend, journal_last_seq(self->journal),
                    text);
}

static void send_state(session_t *self)
{
    cleanup_free char *text = describe_text(self);

    frontends_send_state(self->frontends, text);
}

void announce_state(session_t *self)
{
    session_phase_t phase = session_state_phase(self->state);
    bool was_at_work = self->announced_phase == PHASE_IDLE
                       || self->announced_phase == PHASE_BUSY;

    /* Idle and busy are in `status` messages, up to a thousand times a second.
     */
    if (self->announced_phase == phase
        || ((self->spec->seed.is_running || was_at_work)
            && session_state_is_at_work(self->state)))
        return;
    self->announced_phase = phase;
    if (frontends_are_there(self->frontends))
        send_state(self);
}

void announce_ready(session_t *self)
{
    session_report_t *event = session_report_new(SESSION_READY, 0);

    activity_touch(self);
    /* First, because a client turns to a frontend once it has the registry's
     * answer. */
    announce_state(self);
    if (!self->spec->is_pooled && self->spec->process.pid)
        event->answer = describe_created(self);
    notify_send(self->notify, event);
    if (!self->spec->is_pooled)
        announce_start_soon(self);
}

void announce_start_soon(session_t *self)
{
    timers_start(self->timers, TIMER_START, START_MS);
}

void announce_start(session_t *self)
{
    if (!timers_is_running(self->timers, TIMER_START))
        return;
    timers_stop(self->timers, TIMER_START);
    audit_events_start(self->audit);
}

void announce_on_start(void *session)
{
    session_t *self = session;
    fault_t ignored; /* logged where it matters */

    audit_events_start(self->audit);
    /* Opens the files that the next cell needs, while no client waits. */
    (void) journal_wake(self->journal, &ignored);
    resource_monitor_expect_cell(self->limits.monitor);
}

void announce_limit(session_t *self, const char *name, uint64_t max)
{
    notify_limit(self->notify, name);
    audit_events_limit(self->audit, name, max);
}

void announce_latency(session_t *self)
{
    session_report_t *event;

    timers_stop(self->timers, TIMER_LATENCY);
    if (latency_is_empty(&self->latency))
        return;
    event = session_report_new(SESSION_LATENCY, 0);
    event->latency = latency_take(&self->latency);
    notify_send(self->notify, event);
}

void announce_on_latency(void *session)
{
    announce_latency(session);
}
