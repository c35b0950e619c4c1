/* Receives clients' requests from the session's own sockets and from frontends.
 * They are journaled and queued; wrong ones are refused, repeated ones get the
 * journaled answer. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_RECEIVE_H
#define HEARTH_GATEWAY_SESSION_ACTOR_RECEIVE_H

#include "gateway/session/core/session.h"

/* Takes the requests on shell that have come by now, also those of viewers. */
void receive_take_all(session_t *self);
/* Takes requests likewise, up to one that has to wait for a command of the
 * registry. */
void receive_take_more(session_t *self);
/* Goes on with the request that waited, after a command was handled, if no
 * other command is there. */
void receive_after_command(session_t *self);

/* Handle what has come on a socket: zloop_reader_fn; `arg` is the session. */
int receive_on_shell(zloop_t *loop, zsock_t *socket, void *arg);
int receive_on_control(zloop_t *loop, zsock_t *socket, void *arg);
int receive_on_stdin(zloop_t *loop, zsock_t *socket, void *arg);
int receive_on_frontend(zloop_t *loop, zsock_t *socket, void *arg);

#endif
