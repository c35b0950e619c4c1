/* What follows from the end of the process that a session belongs to
 * (holder.h): the session ends with it, and its kernel serves no client any
 * more. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_HOLDING_H
#define HEARTH_GATEWAY_SESSION_CORE_HOLDING_H

#include "gateway/session/core/session.h"

/* Watches the process that session.json names, if it names one. */
void holding_begin(session_t *self);
/* Ends the session if its process has ended; returns true if it has. Looks at
 * the process itself: a request may be there before the news of its end. Call
 * it before a request is served. */
bool holding_end_if_over(session_t *self);
/* Handles the end of the process; `session` is the session. */
void holding_on_end(void *session);

#endif
