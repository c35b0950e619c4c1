/* The clocks of a session that run while no client uses it. */
#ifndef HEARTH_GATEWAY_SESSION_ACTIVITY_H
#define HEARTH_GATEWAY_SESSION_ACTIVITY_H

#include "gateway/session/session.h"

/* Begins the inactivity timeout anew. */
void activity_touch(session_t *self);
/* Starts the rest of the lifetime, if there is one. */
void activity_count_lifetime(session_t *self);

#endif
