/* Applies the bounds between a session's kernel and its peers: does what
 * backpressure.h and held_memory.h decide. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_FLOW_CONTROL_H
#define HEARTH_GATEWAY_SESSION_CORE_FLOW_CONTROL_H

#include "gateway/session/core/session.h"

/* Counts the memory that the session holds, after that may have changed. */
void flow_control_count(session_t *self);
/* Returns true if there is memory for a request of `bytes` bytes. */
bool flow_control_has_memory(session_t *self, size_t bytes);
/* Handles TIMER_MEMORY; `session` is it. */
void flow_control_on_memory(void *session);

/* Returns true if the kernel may be read. If not, TIMER_OUTPUTS runs. */
bool flow_control_may_read(session_t *self);
/* Returns true if a held kernel may be read again; acts on slow peers. If not,
 * TIMER_OUTPUTS runs while there is a kernel. */
bool flow_control_look(session_t *self);
/* Returns true if requests may be read and begun. If not, TIMER_REPLIES runs.
 */
bool flow_control_may_take(session_t *self);
/* Returns true if requests may be read again; acts on slow clients. If not,
 * TIMER_REPLIES runs. */
bool flow_control_look_replies(session_t *self);

/* Gives a subscriber that came the end of a cell that it may have missed. */
void flow_control_on_subscriber(session_t *self);
/* Notes that subscribers are not back in time after a take-over. */
void flow_control_on_latecomers(session_t *self);

#endif
