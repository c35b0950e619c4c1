/* The clocks of a session that run while no client uses it. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_ACTIVITY_H
#define HEARTH_GATEWAY_SESSION_CORE_ACTIVITY_H

#include "gateway/session/core/session.h"

/* Begins the inactivity timeout anew: a client uses the session. */
void activity_touch(session_t *self);
/* Begins it anew for a session of another gateway: clients may come back. That
 * is not a request, so the time that output alone keeps the session runs on. */
void activity_take_over(session_t *self);
/* Notes that the session's code has output something. That is activity, but
 * output alone keeps a session only for sessions/output_timeout. */
void activity_note_output(session_t *self);
/* Returns when the session was active last, by the wall clock in us. */
int64_t activity_last_us(const session_t *self);
/* Returns true if there was output that counts as activity no more. */
bool activity_is_output_alone(const session_t *self);
/* Returns true if the inactivity timeout is extended because of output; the
 * timer then runs for the rest. */
bool activity_goes_on(session_t *self);
/* Starts the rest of the lifetime, if there is one. */
void activity_count_lifetime(session_t *self);

#endif
