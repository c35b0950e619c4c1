/* A copy of bytes for messages that libzmq sends, to one socket or several. It
 * is the one place that counts who still needs bytes that libzmq borrows. */
#ifndef HEARTH_PROTOCOL_ZMQ_PARCEL_H
#define HEARTH_PROTOCOL_ZMQ_PARCEL_H

#include "base/bytes.h"
#include "base/cleanup.h"

#include <stdbool.h>

typedef struct zmq_parcel zmq_parcel_t;

/* Returns a parcel, which is the caller's, with a copy of the bytes. */
zmq_parcel_t *zmq_parcel_new(bytes_t bytes);
/* Ends the caller's part. The copy is freed with the last frame that libzmq
 * has, in its own thread. */
void zmq_parcel_destroy(zmq_parcel_t **self_p);
#define cleanup_zmq_parcel CLEANUP(zmq_parcel_destroy)

/* Returns the parcel that several receivers share. It is made of `bytes`, in
 * the caller's *shared_p, if that is NULL. So bytes without a receiver are not
 * copied. */
zmq_parcel_t *zmq_parcel_share(zmq_parcel_t **shared_p, bytes_t bytes);

/* Sends the bytes as a frame, with the flags of zmq_msg_send. Returns 0 or
 * -errno. The parcel stays the caller's. */
int zmq_parcel_send(zmq_parcel_t *self, void *zmq_socket, int flags);

/* Called once for a frame, when libzmq frees it: in any thread, and before
 * zmq_parcel_send_counted returns if the frame has no receiver. */
typedef void zmq_parcel_freed_fn(void *arg, size_t weight);
/* Sends like zmq_parcel_send, and then calls `freed` with `arg`, which must
 * live until then, and `weight`. */
typedef struct {
    zmq_parcel_freed_fn *freed;
    void *arg; /* borrowed */
    size_t weight;
} zmq_parcel_receipt_t;
int zmq_parcel_send_counted(zmq_parcel_t *self, void *zmq_socket, int flags,
                            const zmq_parcel_receipt_t *receipt);

/* Returns true if libzmq has not freed everything that was sent. */
bool zmq_parcel_is_held(const zmq_parcel_t *self);

#endif
