/* session.json is kept up to date, for the gateway that comes after this one.
 */
#ifndef HEARTH_GATEWAY_SESSION_CORE_PERSIST_H
#define HEARTH_GATEWAY_SESSION_CORE_PERSIST_H

#include "gateway/session/core/session.h"

/* Writes session.json. A failure is logged. */
void persist_now(session_t *self);
/* Likewise, in a moment: with what else changes by then. */
void persist_soon(session_t *self);
/* Handles TIMER_SAVE; `session` is it. */
void persist_on_timer(void *session);

#endif
