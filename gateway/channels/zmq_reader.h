/* Watches one ZeroMQ socket in a loop. zmq_poll makes two system calls for each
 * of its sockets in each turn; a reader waits only for the socket's descriptor
 * (ZMQ_FD).
 *
 * The descriptor is edge-triggered, and any call on the socket may consume the
 * edge. So a caller that uses the socket outside of its handler calls
 * zmq_reader_touch, and the socket is looked at before the loop sleeps. */
#ifndef HEARTH_GATEWAY_CHANNELS_ZMQ_READER_H
#define HEARTH_GATEWAY_CHANNELS_ZMQ_READER_H

#include "base/buffer.h"

#include <czmq.h>

typedef struct zmq_reader zmq_reader_t;

/* Calls `handler` while something can be received; it need not take everything.
 * Loop and socket are the caller's. */
zmq_reader_t *zmq_reader_new(zloop_t *loop, zsock_t *socket,
                             zloop_reader_fn *handler, void *arg);
/* Stops watching, in a loop that continues. The handler itself may not call it.
 */
void zmq_reader_end(zmq_reader_t *self);
/* Frees the reader, after the loop has ended or after zmq_reader_end. */
void zmq_reader_destroy(zmq_reader_t **self_p);
#define cleanup_zmq_reader CLEANUP(zmq_reader_destroy)

/* Returns true if something can be received. A handler makes this its last call
 * before it returns; otherwise it is called again. */
bool zmq_reader_has_input(zmq_reader_t *self);
/* Leaves messages unread: the handler is called again only after the next touch
 * or message. */
void zmq_reader_leave(zmq_reader_t *self);
/* Notes that the socket was sent to, or asked for its events. */
void zmq_reader_touch(zmq_reader_t *self);

#endif
