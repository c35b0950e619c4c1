/* See zmq_parcel.h. libzmq's threads touch nothing but the counter, and the
 * receipt of a frame that has one. */
#include "protocol/zmq_parcel.h"

#include "base/buffer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <zmq.h>

struct zmq_parcel {
    atomic_size_t holders; /* the owner, and each frame */
    size_t size;
    uint8_t bytes[];
};

/* A frame whose end is reported. */
typedef struct {
    zmq_parcel_receipt_t receipt;
    _Atomic(zmq_parcel_t *) parcel; /* held; written last, because libzmq's
                                       threads read it first */
} counted_t;

zmq_parcel_t *zmq_parcel_new(bytes_t bytes)
{
    zmq_parcel_t *self = mem_resize(NULL, sizeof *self + bytes.size);

    self->size = bytes.size;
    if (bytes.size)
        memcpy(self->bytes, bytes.bytes, bytes.size);
    atomic_store(&self->holders, 1);
    return self;
}

static void release(zmq_parcel_t *self)
{
    if (atomic_fetch_sub(&self->holders, 1) == 1)
        free(self);
}

void zmq_parcel_destroy(zmq_parcel_t **self_p)
{
    if (*self_p)
        release(take_ptr(*self_p));
}

zmq_parcel_t *zmq_parcel_share(zmq_parcel_t **shared_p, bytes_t bytes)
{
    if (!*shared_p)
        *shared_p = zmq_parcel_new(bytes);
    return *shared_p;
}

/* Gives up libzmq's hold: a zmq_free_fn, in whatever thread was the last to
 * need the frame. */
static void on_freed(void *bytes, void *parcel)
{
    (void) bytes;
    release(parcel);
}

/* Likewise, with a receipt. */
static void on_counted_freed(void *bytes, void *hint)
{
    counted_t *counted = hint;
    zmq_parcel_t *parcel = atomic_load(&counted->parcel);
    zmq_parcel_receipt_t receipt = counted->receipt;

    (void) bytes;
    free(counted);
    release(parcel);
    receipt.freed(receipt.arg, receipt.weight);
}

/* Holds the parcel until libzmq calls `freed` with `hint`. */
static int send_frame(zmq_parcel_t *self, void *zmq_socket, int flags,
                      zmq_free_fn *freed, void *hint)
{
    zmq_msg_t message;
    int r;

    if (zmq_msg_init_data(&message, self->bytes, self->size, freed, hint) < 0)
        abort();
    atomic_fetch_add(&self->holders, 1);
    do
        r = zmq_msg_send(&message, zmq_socket, flags);
    while (r < 0 && zmq_errno() == EINTR);
    if (r >= 0)
        return 0;
    r = -zmq_errno();
    (void) zmq_msg_close(&message);
    return r;
}

int zmq_parcel_send(zmq_parcel_t *self, void *zmq_socket, int flags)
{
    return send_frame(self, zmq_socket, flags, on_freed, self);
}

int zmq_parcel_send_counted(zmq_parcel_t *self, void *zmq_socket, int flags,
                            const zmq_parcel_receipt_t *receipt)
{
    counted_t *counted = mem_new(sizeof *counted);

    counted->receipt = *receipt;
    atomic_store(&counted->parcel, self);
    return send_frame(self, zmq_socket, flags, on_counted_freed, counted);
}

bool zmq_parcel_is_held(const zmq_parcel_t *self)
{
    return atomic_load(&self->holders) > 1;
}
