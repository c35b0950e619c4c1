/* See zmq_backlog.h. The one thing of a session's that two threads touch: two
 * counters, by atomic operations. */
#include "protocol/zmq_backlog.h"

#include "base/buffer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <zmq.h>

struct zmq_backlog {
    atomic_size_t weight;
    atomic_size_t holders; /* the owner, and each message */
};

/* A message's bytes, after the state that is needed when it is freed. */
typedef struct {
    _Atomic(zmq_backlog_t *) backlog; /* borrowed; written last, because
                                         libzmq's threads read it first */
    size_t weight;
    uint8_t bytes[];
} parcel_t;

zmq_backlog_t *zmq_backlog_new(void)
{
    zmq_backlog_t *self = mem_new(sizeof *self);

    atomic_init(&self->weight, 0);
    atomic_init(&self->holders, 1);
    return self;
}

static void release(zmq_backlog_t *self)
{
    if (atomic_fetch_sub(&self->holders, 1) == 1)
        free(self);
}

void zmq_backlog_destroy(zmq_backlog_t **self_p)
{
    if (*self_p)
        release(take_ptr(*self_p));
}

size_t zmq_backlog_weight(const zmq_backlog_t *self)
{
    return atomic_load(&self->weight);
}

/* Takes the message's weight from the backlog: a zmq_free_fn, in whatever
 * thread was the last to need the message. */
static void let_go(void *bytes, void *hint)
{
    parcel_t *parcel = hint;
    zmq_backlog_t *self = atomic_load(&parcel->backlog);

    (void) bytes;
    atomic_fetch_sub(&self->weight, parcel->weight);
    free(parcel);
    release(self);
}

int zmq_backlog_send(zmq_backlog_t *self, void *zmq_socket, const void *bytes,
                     size_t size, size_t weight, int flags)
{
    parcel_t *parcel = mem_resize(NULL, sizeof *parcel + size);
    zmq_msg_t message;
    int r;

    parcel->weight = weight;
    if (size)
        memcpy(parcel->bytes, bytes, size);
    atomic_store(&parcel->backlog, self);
    if (zmq_msg_init_data(&message, parcel->bytes, size, let_go, parcel) < 0)
        abort();
    atomic_fetch_add(&self->holders, 1);
    atomic_fetch_add(&self->weight, weight);
    do
        r = zmq_msg_send(&message, zmq_socket, flags);
    while (r < 0 && zmq_errno() == EINTR);
    if (r >= 0)
        return 0;
    r = -zmq_errno();
    (void) zmq_msg_close(&message);
    return r;
}
