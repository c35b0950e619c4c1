/* See zmq_backlog.h. The one thing of a session's that two threads touch: a
 * counter, by atomic operations. */
#include "protocol/zmq_backlog.h"

#include "base/buffer.h"

#include <assert.h>
#include <stdatomic.h>

/* The owner's weight: the counter lives while its own is not 0. */
#define OWNER_WEIGHT 1

struct zmq_backlog {
    atomic_size_t weight; /* of the messages and the owner */
};

zmq_backlog_t *zmq_backlog_new(void)
{
    zmq_backlog_t *self = mem_new(sizeof *self);

    atomic_store(&self->weight, OWNER_WEIGHT);
    return self;
}

/* zmq_parcel_freed_fn */
static void take_off(void *arg, size_t weight)
{
    zmq_backlog_t *self = arg;

    if (atomic_fetch_sub(&self->weight, weight) == weight)
        free(self);
}

void zmq_backlog_destroy(zmq_backlog_t **self_p)
{
    if (*self_p)
        take_off(take_ptr(*self_p), OWNER_WEIGHT);
}

size_t zmq_backlog_weight(const zmq_backlog_t *self)
{
    return atomic_load(&self->weight) - OWNER_WEIGHT;
}

int zmq_backlog_send(zmq_backlog_t *self, zmq_parcel_t *parcel,
                     void *zmq_socket, size_t weight, int flags)
{
    const zmq_parcel_receipt_t receipt = {take_off, self, weight};

    assert(weight > 0);
    atomic_fetch_add(&self->weight, weight);
    return zmq_parcel_send_counted(parcel, zmq_socket, flags, &receipt);
}
