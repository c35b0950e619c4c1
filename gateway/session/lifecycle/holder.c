/* See holder.h. */
#include "gateway/session/lifecycle/holder.h"

#include "base/buffer.h"
#include "base/pidfd.h"

#include <stdlib.h>
#include <unistd.h>

struct holder {
    zloop_t *loop; /* borrowed */
    holder_end_fn *on_end;
    void *arg; /* borrowed */
    int fd;    /* owned; the process; -1: none */
};

holder_t *holder_new(zloop_t *loop, holder_end_fn *on_end, void *arg)
{
    holder_t *self = mem_new(sizeof *self);

    self->loop = loop;
    self->on_end = on_end;
    self->arg = arg;
    self->fd = -1;
    return self;
}

void holder_destroy(holder_t **self_p)
{
    holder_t *self = *self_p;

    if (!self)
        return;
    if (self->fd >= 0)
        close(self->fd);
    free(self);
    *self_p = NULL;
}

static void unwatch(holder_t *self)
{
    zmq_pollitem_t item = {.fd = self->fd};

    zloop_poller_end(self->loop, &item);
}

static int on_ended(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    holder_t *self = arg;

    (void) loop;
    (void) item;
    /* A pidfd stays readable. */
    unwatch(self);
    self->on_end(self->arg);
    return 0;
}

int holder_watch(holder_t *self, const holder_id_t *id, fault_t *fault)
{
    zmq_pollitem_t item = {.events = ZMQ_POLLIN};
    int r;

    if (!id->pid)
        return 0;
    holder_forget(self);
    if ((r = pidfd_find(id->pid, id->start_time, &self->fd, fault)) < 0)
        return r;
    item.fd = self->fd;
    zloop_poller(self->loop, &item, on_ended, self);
    zloop_poller_set_tolerant(self->loop, &item);
    return 0;
}

void holder_forget(holder_t *self)
{
    if (self->fd < 0)
        return;
    unwatch(self);
    close(self->fd);
    self->fd = -1;
}

bool holder_has_ended(const holder_t *self)
{
    return self->fd >= 0 && pidfd_ends(self->fd, 0);
}
