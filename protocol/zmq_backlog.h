/* Counts the bytes that libzmq holds for peers that have not taken them. libzmq
 * does not report its queues, but it calls back when it frees a message: when
 * the last peer's socket took it or the peer has gone. */
#ifndef HEARTH_PROTOCOL_ZMQ_BACKLOG_H
#define HEARTH_PROTOCOL_ZMQ_BACKLOG_H

#include "base/cleanup.h"
#include "protocol/zmq_parcel.h"

#include <stddef.h>

typedef struct zmq_backlog zmq_backlog_t;

/* Returns a counter, which is the caller's. */
zmq_backlog_t *zmq_backlog_new(void);
/* Ends the caller's part. The counter is freed with the last message that it
 * counts, in libzmq's own thread. */
void zmq_backlog_destroy(zmq_backlog_t **self_p);

/* Returns the weight of the messages that are held now. */
size_t zmq_backlog_weight(const zmq_backlog_t *self);

/* Sends the parcel, which stays the caller's, as a frame, and counts `weight`,
 * at least 1, until libzmq frees it. Returns 0 or -errno. */
int zmq_backlog_send(zmq_backlog_t *self, zmq_parcel_t *parcel,
                     void *zmq_socket, size_t weight, int flags);

#endif
