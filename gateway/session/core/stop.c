/* See stop.h. */
#include "gateway/session/core/stop.h"

#include "base/clock.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/output_limit.h"

#include <stdarg.h>

#define LINK_GRACE_MS 300    /* from a closed link to the end of its kernel */
#define REPEAT_MS     120000 /* how long launches are repeated */
#define STOP_MS       5000   /* how long a killed kernel is waited for */

void stop_end_waiting(session_t *self)
{
    timers_stop(self->timers, TIMER_STOP);
    timers_stop(self->timers, TIMER_LEAVE);
    timers_stop(self->timers, TIMER_LINK);
}

void stop_await(session_t *self, timer_name_t name, int64_t delay_ms)
{
    stop_end_waiting(self);
    timers_start(self->timers, name, delay_ms);
}

void stop_expect(session_t *self)
{
    stop_await(self, TIMER_STOP, LINK_GRACE_MS);
}

static void note_cause(session_t *self)
{
    bool is_limit = audit_events_stop(self->audit, &self->cause);

    /* A limit that its cell has reached is counted already. */
    if (is_limit && !output_limit_is_over(self->limits.output))
        notify_limit(self->notify, end_reason_name(self->cause.reason));
}

void stop_begin(session_t *self, end_reason_t reason, const char *format, ...)
{
    va_list args;
    bool is_first;

    if (session_state_is(self->state, PHASE_GONE))
        return;
    va_start(args, format);
    is_first = end_cause_set_first(&self->cause, reason, format, args);
    va_end(args);
    if (is_first)
        note_cause(self);
    session_state_step(self->state, STATE_ON_STOP);
    announce_state(self);
    if (session_kernel(self)) {
        stop_await(self, TIMER_STOP, STOP_MS);
        kernel_kill(session_kernel(self));
    } else {
        bool waits = session_state_awaits_answer(self->state);

        stop_await(self, TIMER_STOP, waits ? STOP_MS : 1);
    }
}

void stop_repeat_launch(session_t *self)
{
    if (session_state_is(self->state, PHASE_STARTING) && !self->info.size
        && self->cause.reason == END_REASON_NONE
        && clock_monotonic_ms() - self->clocks.launched < REPEAT_MS)
        session_state_step(self->state, STATE_ON_REPEAT);
}

bool stop_wants_relaunch(const session_t *self)
{
    switch (session_state_sequel(self->state)) {
    case SEQUEL_RESTART:
    case SEQUEL_REPEAT:
        return true;
    case SEQUEL_NONE:
    case SEQUEL_CANCELLED:
        return false;
    case SEQUEL_BY_PROFILE:
        break;
    }
    /* A seed that ended its kernel would do so again. */
    return self->spec->restarts && self->info.size
           && !self->spec->seed.is_running
           && end_cause_permits_restart(&self->cause);
}
