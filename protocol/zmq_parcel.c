/* See zmq_parcel.h. libzmq's threads touch nothing but the counter. */
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

/* Gives up libzmq's hold: a zmq_free_fn, in whatever thread was the last to
 * need the frame. */
static void on_freed(void *bytes, void *parcel)
{
    (void) bytes;
    release(parcel);
}

int zmq_parcel_send(zmq_parcel_t *self, void *zmq_socket, int flags)
{
    zmq_msg_t message;
    int r;

    if (zmq_msg_init_data(&message, self->bytes, self->size, on_freed, self)
        < 0)
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

bool zmq_parcel_is_held(const zmq_parcel_t *self)
{
    return atomic_load(&self->holders) > 1;
}
