/* A copy of bytes for messages that libzmq sends, to one socket or several. It
 * is freed with the last of them. */
#ifndef HEARTH_PROTOCOL_ZMQ_PARCEL_H
#define HEARTH_PROTOCOL_ZMQ_PARCEL_H

#include "base/bytes.h"
#include "base/cleanup.h"

#include <stdbool.h>

typedef struct zmq_parcel zmq_parcel_t;

zmq_parcel_t *zmq_parcel_new(bytes_t bytes);
/* Lets go of it. libzmq's own thread later frees what is still held. */
void zmq_parcel_destroy(zmq_parcel_t **self_p);
#define cleanup_zmq_parcel CLEANUP(zmq_parcel_destroy)

/* Sends the bytes as a frame, with the flags of zmq_msg_send. Returns 0 or
 * -errno. */
int zmq_parcel_send(zmq_parcel_t *self, void *zmq_socket, int flags);
/* Returns true if libzmq has not freed everything that was sent. */
bool zmq_parcel_is_held(const zmq_parcel_t *self);

#endif
