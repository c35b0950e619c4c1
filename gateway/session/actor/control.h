/* Commands of the registry to a session, in one table (messages.h). */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_CONTROL_H
#define HEARTH_GATEWAY_SESSION_ACTOR_CONTROL_H

#include "gateway/session/core/session.h"
#include "gateway/session/lifecycle/messages.h"

/* Does what the command asks; the command is taken. */
void control_take(session_t *self, session_command_t **command_p);
/* Takes one command: a zloop reader, whose `arg` is the session. Ends the loop
 * if the registry ends the thread. */
int control_on_pipe(zloop_t *loop, zsock_t *pipe, void *arg);
/* Handles TIMER_DRAIN; `session` is a session_t. */
void control_on_drain(void *session);

#endif
