/* The requests that wait for the end of a session that they delete. A client
 * that has its answer finds the session gone, whatever it asks next. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_DELETION_H
#define HEARTH_GATEWAY_SESSION_CORE_DELETION_H

#include "gateway/session/core/session.h"

/* Adds a request of the registry, by its token. */
void deletion_await(session_t *self, uint64_t token);
/* Answers the requests with the session as it is: it has ended. */
void deletion_answer(session_t *self);
/* Handles TIMER_DELETION: reports to the requests that the session has not
 * ended yet. `session` is it. */
void deletion_on_timer(void *session);

#endif
