/* Interrupts the running cell: acts on the decisions of interrupt.h, and gives
 * the outcome to the client that waits for it. It says of the variables only
 * what is known, never a guess. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_ESCALATION_H
#define HEARTH_GATEWAY_SESSION_CORE_ESCALATION_H

#include "gateway/session/core/session.h"
#include "gateway/session/kernel/interrupt.h"

/* Interrupts the running cell; `kills` permits to end its kernel. */
void escalation_begin(session_t *self, bool kills);
/* Does the same for a limit that the cell has reached. */
void escalation_begin_for_limit(session_t *self, cell_limit_t limit);
/* Acts when the kernel's mark `number` was read. */
void escalation_on_mark(session_t *self, uint64_t number);
/* Acts when the kernel reports that Python code got a signal while request
 * `number` was served. `is_taken`: it was code that may be interrupted. */
void escalation_on_strike(session_t *self, uint64_t number, bool is_taken);
/* Acts when the kernel reports that the code of request `number` is over. */
void escalation_on_yield(session_t *self, uint64_t number);
/* Handles TIMER_INTERRUPT; `session` is it. */
void escalation_on_timer(void *session);
/* Answers the client that waits for the outcome, if there is one. */
void escalation_answer(session_t *self, const char *outcome,
                       const char *variables);
/* Does the same with what is known before the escalation has ended. */
void escalation_answer_known(session_t *self);
/* Does the same, and ends the escalation. */
void escalation_end(session_t *self, const char *outcome,
                    const char *variables);

#endif
