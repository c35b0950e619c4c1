/* The interrupt ladder, verified rung by rung: a signal, a look whether the
 * kernel came back, a second signal, and the end where that is permitted. What
 * is said of the variables is what is known, never a guess.
 *
 * A kernel that has yielded may have megabytes of output in front of its
 * reply. So each signal is followed by a mark on the link, which comes back
 * behind all that was said before, and the grace counts from there. And on a
 * machine with much to do a traceback takes longer than the grace: a kernel
 * that says that the cell's own code is over has more time, once. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <jansson.h>

#define BEHIND_MS  60000 /* a mark that does not come back is given up */
#define YIELDED_MS 20000 /* from there to the reply */

void ladder_done(self_t *self, const char *outcome, const char *variables)
{
    session_stop_timer(self, &self->rung_timer);
    self->rung = RUNG_NONE;
    self->rung_mark = 0;
    self->limit_reached = self->ladder_kills = self->has_yielded = false;
    if (!self->interrupt_token)
        return;
    commands_answer(self, self->interrupt_token,
                    json_pack("{s:s,s:s,s:s}", "status", "ok", "outcome",
                              outcome, "variables", variables));
    free(take_ptr(self->interrupt_token));
}

static int on_rung(zloop_t *loop, int timer, void *arg);

static void signal_kernel(self_t *self)
{
    frame_t mark = {.type = FRAME_MARK, .request = turns_number(self)};
    fault_t fault;

    if (kernel_command(self->kernel, 'I', &fault) < 0)
        log_warning("session=%s interrupt: %s", self->spec->id, fault.text);
    /* Without a link nothing comes back, and nothing is waited for. */
    self->rung_mark = self->is_greeted && session_send(self, &mark, &fault) == 0
                          ? mark.request
                          : 0;
    self->rung_since = clock_monotonic_ms();
    self->rung_received = kernel_received(self->kernel);
}

static void count_grace(self_t *self)
{
    session_start_timer(self, &self->rung_timer, self->spec->grace_ms, on_rung);
}

void ladder_on_mark(self_t *self, uint64_t number)
{
    if (self->rung == RUNG_NONE || number != self->rung_mark)
        return;
    self->rung_mark = 0;
    if (!self->has_yielded)
        count_grace(self);
}

void ladder_on_yield(self_t *self, uint64_t number)
{
    int64_t time_ms = self->spec->grace_ms;

    if (self->rung == RUNG_NONE || self->has_yielded || !self->running
        || self->running->number != number)
        return;
    self->has_yielded = true;
    if (time_ms < YIELDED_MS)
        time_ms = YIELDED_MS;
    session_start_timer(self, &self->rung_timer, time_ms, on_rung);
}

/* What was said before the signal is still being read. */
static bool is_behind(self_t *self)
{
    uint64_t received = kernel_received(self->kernel);
    bool is_moving = received != self->rung_received;

    self->rung_received = received;
    return self->rung_mark && is_moving
           && clock_monotonic_ms() - self->rung_since < BEHIND_MS;
}

static int on_rung(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->rung_timer = 0;
    if (self->state != LIFE_BUSY || !self->kernel)
        return 0;
    if (is_behind(self)) {
        count_grace(self);
    } else if (self->rung == RUNG_FIRST) {
        self->rung = RUNG_SECOND;
        signal_kernel(self);
        count_grace(self);
    } else if (self->ladder_kills) {
        self->rung = RUNG_KILL;
        ending_begin(
            self, self->limit_reached ? LIFE_REASON_WALL : LIFE_REASON_SIGNAL,
            "the cell ran past its time limit or was interrupted, did "
            "not yield to two interrupts, and its kernel was killed");
    } else {
        ladder_done(self, "running", "preserved");
    }
    return 0;
}

void ladder_climb(self_t *self, bool kills)
{
    if (!self->kernel || self->state != LIFE_BUSY) {
        ladder_done(self, "idle", "preserved");
        return;
    }
    self->ladder_kills = self->ladder_kills || kills;
    signal_kernel(self);
    if (self->rung == RUNG_NONE) {
        self->rung = RUNG_FIRST;
        count_grace(self);
    }
}
