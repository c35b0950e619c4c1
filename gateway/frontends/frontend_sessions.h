/* The messages between a frontend and the sessions that it is attached to. */
#ifndef HEARTH_GATEWAY_FRONTENDS_FRONTEND_SESSIONS_H
#define HEARTH_GATEWAY_FRONTENDS_FRONTEND_SESSIONS_H

#include "gateway/frontends/frontend_state.h"

/* Takes the registry's answer (self->answer) about a session that was to be
 * attached. Returns true if *ret_event is to be passed on. */
bool frontend_sessions_on_attach(frontend_t *self, const char *session,
                                 frontend_event_t *ret_event);
/* Takes the next message of a session that is to be passed on. Returns false if
 * no such message waits. */
bool frontend_sessions_next(frontend_t *self, frontend_event_t *ret_event);
/* Leaves every session. */
void frontend_sessions_leave_all(frontend_t *self);

#endif
