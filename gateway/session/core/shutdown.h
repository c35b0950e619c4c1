/* Ends or restarts a kernel on request. The kernel is asked to leave, so that
 * its exit handlers are run, and killed if it does not. The client has its
 * answer at once. The journal therefore says what is still to be done, for the
 * gateway that comes when this one is killed. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_SHUTDOWN_H
#define HEARTH_GATEWAY_SESSION_CORE_SHUTDOWN_H

#include "gateway/session/core/session.h"

/* Asks the kernel to leave; with `restart` a fresh one follows. */
void shutdown_begin(session_t *self, bool restart);
/* Ends the kernel without asking it; `why` is a sentence. */
void shutdown_at_once(session_t *self, const char *why);
/* Goes on with a shutdown that another gateway has begun before it was
 * killed. */
void shutdown_go_on(session_t *self);
/* Handles TIMER_LEAVE; `session` is it. */
void shutdown_on_timer(void *session);

#endif
