/* Counts the bytes that libzmq holds for peers that have not taken them. libzmq
 * does not report its queues, but it calls back when it frees a message: when
 * the last peer's socket took it or the peer has gone. */
#ifndef HEARTH_PROTOCOL_ZMQ_BACKLOG_H
#define HEARTH_PROTOCOL_ZMQ_BACKLOG_H

#include "base/cleanup.h"

#include <stddef.h>

typedef struct zmq_backlog zmq_backlog_t;

zmq_backlog_t *zmq_backlog_new(void);
/* Frees the counter. libzmq's own thread later frees what is still held. */
void zmq_backlog_destroy(zmq_backlog_t **self_p);

/* Returns the weight of the messages that are held now. */
size_t zmq_backlog_weight(const zmq_backlog_t *self);

/* Sends a copy of `bytes` by zmq_send and counts `weight` until libzmq frees
 * it. Returns 0 or -errno. */
int zmq_backlog_send(zmq_backlog_t *self, void *zmq_socket, const void *bytes,
                     size_t size, size_t weight, int flags);

#endif
