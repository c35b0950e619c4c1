/* The session actor: one thread owns a session's five sockets, its kernel, its
 * journal and its timers. The registry talks to it over its line, by messages
 * that are handed over whole (messages.h). */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_ACTOR_H
#define HEARTH_GATEWAY_SESSION_ACTOR_ACTOR_H

#include "gateway/session/lifecycle/spec.h"

#include <czmq.h>

/* Runs the actor: a zactor_fn for a line (gateway/frontends/mailbox.h). `args`
 * is a session_spec_t, which is taken. Failures are reported by SESSION_BROKEN
 * or SESSION_GONE. */
void session_actor(zsock_t *pipe, void *args);

#endif
