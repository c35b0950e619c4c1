/* Keeps session.json up to date, for the next gateway. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_PERSIST_H
#define HEARTH_GATEWAY_SESSION_CORE_PERSIST_H

#include "gateway/session/core/session.h"

/* Writes session.json. Returns -errno on failure, which is logged: the file is
 * then the older one, and a caller that can go on with that may ignore it. */
int persist_now(session_t *self);
/* Does the same in a moment, so that several changes are written once. */
void persist_soon(session_t *self);
/* Handles TIMER_SAVE; `session` is it. */
void persist_on_timer(void *session);

#endif
