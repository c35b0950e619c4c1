/* The end of a session's kernel, on request, by a limit or by itself: one place
 * decides what clients hear, what the tombstone says, and whether a fresh
 * kernel follows. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_TERMINATION_H
#define HEARTH_GATEWAY_SESSION_ACTOR_TERMINATION_H

#include "gateway/session/core/session.h"

/* Ends what was left of the kernel, which is gone, reports the end, and buries
 * the session or asks for a fresh kernel. Waits, without effect, for
 * subscribers or for the answer to a failed launch. */
void termination_finish(session_t *self);
/* Asks for a fresh kernel: everything that counts a kernel's words begins anew.
 */
void termination_relaunch(session_t *self);
/* Reads what the launch reports: a fault, or nothing when all went well. */
void termination_read_status(session_t *self);
/* Answers clients as a tombstone for so long. */
void termination_keep_tombstone(session_t *self, int64_t keep_ms);

/* Handle TIMER_STOP and TIMER_TOMBSTONE; `session` is it. */
void termination_on_stop(void *session);
void termination_on_tombstone(void *session);

#endif
