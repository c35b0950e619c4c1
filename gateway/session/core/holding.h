/* Ends a session with the process that it belongs to (holder.h): its kernel
 * then serves no client any more. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_HOLDING_H
#define HEARTH_GATEWAY_SESSION_CORE_HOLDING_H

#include "gateway/session/core/session.h"

/* Watches the process that session.json names, if it names one. */
void holding_begin(session_t *self);
/* Ends the session if its process has ended; returns true if it has. Looks at
 * the process itself, because a request may come before the news of its end.
 * Call it before a request is served. */
bool holding_end_if_over(session_t *self);
/* Handles the end of the process; `session` is the session. */
void holding_on_end(void *session);

#endif
