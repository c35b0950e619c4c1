/* Ends a session's kernel, for whatever cause: it is killed and waited for.
 * termination.h decides the sequel. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_STOP_H
#define HEARTH_GATEWAY_SESSION_CORE_STOP_H

#include "gateway/session/core/session.h"
#include "gateway/session/lifecycle/timers.h"

/* Ends the kernel; `format` is the sentence for the tombstone. The first cause
 * counts. */
void stop_begin(session_t *self, end_reason_t reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Waits for the end of the kernel until one timer of STOP, LEAVE and LINK, and
 * for no other of them any more. */
void stop_await(session_t *self, timer_name_t name, int64_t delay_ms);
/* Stops waiting. */
void stop_end_waiting(session_t *self);
/* Waits a moment for pid 1's report of a kernel that is gone. */
void stop_expect(session_t *self);
/* Notes that the launch has failed for a passing cause. The next stop_begin
 * then does not end the session, unless its kernel was ready or launches have
 * failed for long. */
void stop_repeat_launch(session_t *self);
/* Returns true if a fresh kernel follows the end of this one. */
bool stop_wants_relaunch(const session_t *self);

#endif
