/* Handles the end of a session's kernel, on request, by a limit or by itself.
 * One place decides the messages to clients, the tombstone's reason, and
 * whether a fresh kernel follows. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_TERMINATION_H
#define HEARTH_GATEWAY_SESSION_ACTOR_TERMINATION_H

#include "gateway/session/core/session.h"

/* Ends what was left of the kernel, which is gone, reports the end, and buries
 * the session or asks for a fresh kernel. Waits, without effect, for
 * subscribers or for the answer to a failed launch. */
void termination_finish(session_t *self);
/* Asks for a fresh kernel: all counters of the kernel's messages begin anew. */
void termination_relaunch(session_t *self);
/* Reads the launch's report: a fault, or nothing if all went well. */
void termination_read_status(session_t *self);
/* Notes the end that the tombstone has and the journal has not: no gateway was
 * there. */
void termination_note_lost(session_t *self);
/* Answers clients as a tombstone for `keep_ms`. */
void termination_keep_tombstone(session_t *self, int64_t keep_ms);

/* Handle TIMER_STOP and TIMER_TOMBSTONE; `session` is a session_t. */
void termination_on_stop(void *session);
void termination_on_tombstone(void *session);

#endif
