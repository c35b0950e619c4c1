/* Handles subscribers: new ones are greeted. After a take-over requests wait
 * until as many subscribers are back as there were, or for a moment. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_SUBSCRIBERS_H
#define HEARTH_GATEWAY_SESSION_ACTOR_SUBSCRIBERS_H

#include "gateway/session/core/session.h"

/* Listens to the session's sockets; to those for requests only once the session
 * is not held any more. */
void subscribers_open(session_t *self);
/* Holds a session that was taken over until its subscribers are back. */
void subscribers_hold(session_t *self);
/* Greets a subscriber: a channels_greet_t, whose `arg` is the session. Another
 * message may be about to be published, so further steps are left to a
 * timer. */
void subscribers_greet(void *arg, bool is_new, bytes_t topic);

/* Handle TIMER_HOLD, TIMER_SUBSCRIBED and TIMER_UNSUBSCRIBED; `session` is a
 * session_t. */
void subscribers_on_hold(void *session);
void subscribers_on_new(void *session);
void subscribers_on_change(void *session);

#endif
