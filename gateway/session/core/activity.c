/* See activity.h. */
#include "gateway/session/core/activity.h"

#include "base/clock.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/lifecycle/deadlines.h"
#include "gateway/session/lifecycle/timers.h"

#define SAVE_US 1000000 /* the time on disk may be this much too early */

static void begin(session_t *self, int64_t now_us)
{
    self->clocks.begun_us = now_us;
    if (self->spec->times.idle_timeout_ms
        && !session_state_is(self->state, PHASE_GONE))
        timers_start(self->timers, TIMER_IDLE,
                     self->spec->times.idle_timeout_ms);
}

void activity_touch(session_t *self)
{
    int64_t now_us = clock_wall_us();

    self->clocks.asked_us = now_us;
    if (now_us - self->spec->times.asked_us >= SAVE_US)
        persist_soon(self);
    begin(self, now_us);
}

/* Takes over the time of the last request. If that is later than now, the clock
 * was set back. */
void activity_take_over(session_t *self)
{
    int64_t asked_us = self->spec->times.asked_us, now_us = clock_wall_us();

    self->clocks.asked_us =
        asked_us > 0 && asked_us < now_us ? asked_us : now_us;
    begin(self, now_us);
}

/* Notes the time alone. The timer is not restarted: there may be thousands of
 * outputs a second. */
void activity_note_output(session_t *self)
{
    self->clocks.output_us = clock_wall_us();
}

int64_t activity_last_us(const session_t *self)
{
    return deadlines_active(self->clocks.begun_us, self->clocks.output_us,
                            self->clocks.asked_us
                                + self->spec->times.output_timeout_ms * 1000);
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

    /* A time later than now: the clock was set back, and the last activity is
     * unknown. */
    if (active_us == self->clocks.begun_us || active_us > now_us
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
