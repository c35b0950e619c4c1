/* See activity.h. */
#include "gateway/session/activity.h"

#include "base/clock.h"
#include "gateway/session/deadlines.h"

void activity_touch(session_t *self)
{
    self->clocks.asked_us = clock_wall_us();
    if (self->spec->times.idle_timeout_ms
        && !session_state_is(self->state, PHASE_GONE))
        timers_start(self->timers, TIMER_IDLE,
                     self->spec->times.idle_timeout_ms);
}

/* The timer is not started anew: there may be thousands of outputs a second. */
void activity_note_output(session_t *self)
{
    self->clocks.output_us = clock_wall_us();
}

int64_t activity_last_us(const session_t *self)
{
    return deadlines_active(self->clocks.asked_us, self->clocks.output_us,
                            self->spec->times.output_timeout_ms);
}

bool activity_is_output_alone(const session_t *self)
{
    return self->clocks.output_us > activity_last_us(self);
}

bool activity_goes_on(session_t *self)
{
    int64_t active_us = activity_last_us(self), now_us = clock_wall_us();
    int64_t left_ms =
        deadlines_left(self->spec->times.idle_timeout_ms, active_us, now_us);

    /* Later than now: the clock was set back, and nothing is known. */
    if (active_us == self->clocks.asked_us || active_us > now_us
        || left_ms <= 1)
        return false;
    timers_start(self->timers, TIMER_IDLE, left_ms);
    return true;
}

void activity_count_lifetime(session_t *self)
{
    const session_spec_t *spec = self->spec;

    if (spec->times.lifetime_ms)
        timers_start(self->timers, TIMER_LIFETIME,
                     deadlines_left(spec->times.lifetime_ms,
                                    spec->times.created_us, clock_wall_us()));
}
