/* See escalation.h. */
#include "gateway/session/core/escalation.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/requests/request_queue.h"

#include <jansson.h>

void escalation_answer(session_t *self, const char *outcome,
                       const char *variables)
{
    uint64_t token = interrupt_take_token(self->interrupt);

    if (!token)
        return;
    notify_answer(self->notify, token,
                  json_pack("{s:s,s:s,s:s}", "status", "ok", "outcome", outcome,
                            "variables", variables));
}

/* Returns the outcome for a cell that has not ended. */
static const char *known(const session_t *self)
{
    return interrupt_is_handled(self->interrupt) ? "handling" : "running";
}

void escalation_answer_known(session_t *self)
{
    escalation_answer(self, known(self), "preserved");
}

void escalation_end(session_t *self, const char *outcome, const char *variables)
{
    timers_stop(self->timers, TIMER_INTERRUPT);
    interrupt_end(self->interrupt);
    escalation_answer(self, outcome, variables);
}

static void signal_kernel(session_t *self)
{
    frame_t mark = {.type = FRAME_MARK,
                    .request = request_queue_number(self->requests)};
    bool is_marked;
    fault_t fault;

    if (kernel_command(session_kernel(self), 'I', &fault) < 0)
        log_warning("session=%s interrupt: %s", self->spec->id, fault.text);
    /* Without a link no mark can come back, so none is waited for. */
    is_marked = session_state_is_greeted(self->state)
                && kernel_link_send(self->link, &mark, &fault) == 0;
    interrupt_note_signal(self->interrupt, is_marked ? mark.request : 0,
                          kernel_received(session_kernel(self)));
}

static void kill_kernel(session_t *self)
{
    static const end_reason_t reasons[] = {
        [CELL_LIMIT_NONE] = END_REASON_SIGNAL,
        [CELL_LIMIT_TIME] = END_REASON_WALL,
        [CELL_LIMIT_OUTPUT] = END_REASON_OUTPUT,
    };
    const char *const causes[] = {
        [CELL_LIMIT_NONE] = "the cell was interrupted",
        [CELL_LIMIT_TIME] = "the cell ran past its time limit",
        [CELL_LIMIT_OUTPUT] = output_limit_text(self->limits.output),
    };
    cell_limit_t limit = interrupt_limit(self->interrupt);
    const char *what = interrupt_is_kept(self->interrupt)
                           ? "did not let Python have two interrupts"
                           : "did not end in the grace after its interrupt";

    stop_begin(self, reasons[limit], "%s, %s, and its kernel was killed",
               causes[limit], what);
}

static void act(session_t *self, interrupt_verdict_t verdict)
{
    if (verdict.wait_ms)
        timers_start(self->timers, TIMER_INTERRUPT, verdict.wait_ms);
    switch (verdict.action) {
    case INTERRUPT_NOTHING:
        break;
    case INTERRUPT_SIGNAL:
        signal_kernel(self);
        break;
    case INTERRUPT_ANSWER:
        escalation_answer_known(self);
        break;
    case INTERRUPT_KILL:
        kill_kernel(self);
        break;
    case INTERRUPT_DONE:
        escalation_end(self, known(self), "preserved");
        break;
    }
}

static bool is_running(const session_t *self)
{
    return session_kernel(self) && session_state_is(self->state, PHASE_BUSY);
}

void escalation_begin(session_t *self, bool kills)
{
    if (is_running(self))
        act(self,
            interrupt_start(self->interrupt, kills, clock_monotonic_ms()));
    else
        escalation_end(self, "idle", "preserved");
}

void escalation_begin_for_limit(session_t *self, cell_limit_t limit)
{
    if (is_running(self))
        act(self, interrupt_start_for_limit(self->interrupt, limit,
                                            clock_monotonic_ms()));
    else
        escalation_end(self, "idle", "preserved");
}

void escalation_on_mark(session_t *self, uint64_t number)
{
    act(self, interrupt_on_mark(self->interrupt, number, clock_monotonic_ms()));
}

void escalation_on_strike(session_t *self, uint64_t number, bool is_taken)
{
    bool has_met = is_taken && request_queue_runs(self->requests, number);

    act(self,
        interrupt_on_strike(self->interrupt, has_met, clock_monotonic_ms()));
}

void escalation_on_yield(session_t *self, uint64_t number)
{
    if (request_queue_runs(self->requests, number))
        act(self, interrupt_on_yield(self->interrupt, clock_monotonic_ms()));
}

void escalation_on_timer(void *session)
{
    session_t *self = session;

    if (is_running(self))
        act(self, interrupt_on_timer(self->interrupt,
                                     kernel_received(session_kernel(self)),
                                     clock_monotonic_ms()));
}
