/* See zmq_reader.h. */
#include "gateway/channels/zmq_reader.h"

#include <zmq.h>

struct zmq_reader {
    zloop_t *loop;            /* borrowed */
    zsock_t *socket;          /* borrowed */
    zloop_reader_fn *handler; /* gets socket and arg */
    void *arg;
    int timer;     /* zloop id: looks at the next turn; 0: none */
    bool is_empty; /* true if the next message wakes the descriptor */
};

static int on_turn(zloop_t *loop, int timer, void *arg);

void zmq_reader_touch(zmq_reader_t *self)
{
    self->is_empty = false;
    if (!self->timer)
        self->timer = zloop_timer(self->loop, 0, 1, on_turn, self);
}

void zmq_reader_leave(zmq_reader_t *self)
{
    self->is_empty = true;
}

bool zmq_reader_has_input(zmq_reader_t *self)
{
    self->is_empty = !(zsock_events(self->socket) & ZMQ_POLLIN);
    return !self->is_empty;
}

static int look(zmq_reader_t *self)
{
    int r = 0;

    if (zmq_reader_has_input(self))
        r = self->handler(self->loop, self->socket, self->arg);
    if (!self->is_empty)
        zmq_reader_touch(self);
    return r;
}

static int on_turn(zloop_t *loop, int timer, void *arg)
{
    zmq_reader_t *self = arg;

    (void) loop;
    (void) timer;
    self->timer = 0;
    return look(self);
}

static int on_sign(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void) loop;
    (void) item;
    return look(arg);
}

zmq_reader_t *zmq_reader_new(zloop_t *loop, zsock_t *socket,
                             zloop_reader_fn *handler, void *arg)
{
    zmq_reader_t *self = mem_new(sizeof *self);
    zmq_pollitem_t item = {
        .fd = (int) zsock_fd(socket),
        .events = ZMQ_POLLIN,
    };

    self->loop = loop;
    self->socket = socket;
    self->handler = handler;
    self->arg = arg;
    zloop_poller(loop, &item, on_sign, self);
    zloop_poller_set_tolerant(loop, &item);
    zmq_reader_touch(self); /* messages that came before */
    return self;
}

void zmq_reader_end(zmq_reader_t *self)
{
    zmq_pollitem_t item = {.fd = (int) zsock_fd(self->socket)};

    zloop_poller_end(self->loop, &item);
    if (self->timer)
        zloop_timer_end(self->loop, self->timer);
    self->timer = 0;
}

void zmq_reader_destroy(zmq_reader_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}
