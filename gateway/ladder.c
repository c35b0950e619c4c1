/* The interrupt ladder, verified rung by rung: a signal, a look whether the
 * kernel came back, a second signal, and the end where that is permitted. What
 * is said of the variables is what is known, never a guess. */
#include "gateway/internal.h"

#include "base/log.h"

#include <jansson.h>

void ladder_done(self_t *self, const char *outcome, const char *variables)
{
    session_stop_timer(self, &self->rung_timer);
    self->rung = RUNG_NONE;
    self->limit_reached = self->ladder_kills = false;
    if (!self->interrupt_token)
        return;
    commands_answer(self, self->interrupt_token,
                    json_pack("{s:s,s:s,s:s}", "status", "ok", "outcome",
                              outcome, "variables", variables));
    free(take_ptr(self->interrupt_token));
}

static int on_rung(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    fault_t fault;

    (void) loop;
    (void) timer;
    self->rung_timer = 0;
    if (self->state != LIFE_BUSY || !self->kernel)
        return 0;
    if (self->rung == RUNG_FIRST) {
        self->rung = RUNG_SECOND;
        kernel_command(self->kernel, 'I', &fault);
        session_start_timer(self, &self->rung_timer, self->spec->grace_ms,
                            on_rung);
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
    fault_t fault;

    if (!self->kernel || self->state != LIFE_BUSY) {
        ladder_done(self, "idle", "preserved");
        return;
    }
    self->ladder_kills = self->ladder_kills || kills;
    if (kernel_command(self->kernel, 'I', &fault) < 0)
        log_warning("session=%s interrupt: %s", self->spec->id, fault.text);
    if (self->rung == RUNG_NONE) {
        self->rung = RUNG_FIRST;
        session_start_timer(self, &self->rung_timer, self->spec->grace_ms,
                            on_rung);
    }
}
