/* See activity.h. */
#include "gateway/session/activity.h"

#include "base/clock.h"
#include "gateway/session/deadlines.h"

void activity_touch(session_t *self)
{
    self->clocks.active_us = clock_wall_us();
    if (self->spec->times.idle_timeout_ms
        && !session_state_is(self->state, PHASE_GONE))
        timers_start(self->timers, TIMER_IDLE,
                     self->spec->times.idle_timeout_ms);
}

void activity_count_lifetime(session_t *self)
{
    const session_spec_t *spec = self->spec;

    if (spec->times.lifetime_ms)
        timers_start(self->timers, TIMER_LIFETIME,
                     deadlines_left(spec->times.lifetime_ms,
                                    spec->times.created_us, clock_wall_us()));
}
