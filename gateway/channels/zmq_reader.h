/* A socket of ZeroMQ's in a loop, looked at when there is a reason. zmq_poll
 * asks each of its sockets at each turn, with two system calls a socket; a
 * lookout waits for the socket's descriptor (ZMQ_FD) alone.
 *
 * The descriptor tells once, and of more than messages: whatever is done with
 * the socket may take the sign away. So who used it outside of its handler
 * says so (lookout_touch), and it is looked at before the loop sleeps. */
#ifndef HEARTH_GATEWAY_CHANNELS_ZMQ_READER_H
#define HEARTH_GATEWAY_CHANNELS_ZMQ_READER_H

#include "base/buffer.h"

#include <czmq.h>

typedef struct lookout lookout_t;

/* `handler` is called while something can be received; it need not take all.
 * Loop and socket are the caller's. */
lookout_t *lookout_new(zloop_t *loop, zsock_t *socket, zloop_reader_fn *handler,
                       void *arg);
/* In a loop that goes on, and not by the handler itself. */
void lookout_end(lookout_t *self);
/* The loop has ended, or this was said to be over. */
void lookout_destroy(lookout_t **self_p);
#define cleanup_lookout CLEANUP(lookout_destroy)

/* Whether something can be received; the last call before the handler returns
 * is this one, or it is called again. */
bool lookout_has_input(lookout_t *self);
/* What waits is left for now: the handler is not called again before the next
 * touch or message. */
void lookout_leave(lookout_t *self);
/* The socket was sent to, or asked for its events. */
void lookout_touch(lookout_t *self);

#endif
