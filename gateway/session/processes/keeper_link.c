/* See keeper_link.h. */
#include "gateway/session/processes/keeper_link.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH_MAX  16         /* messages before others' turn */
#define QUEUED_MAX (1u << 20) /* bytes that wait for the keeper */

typedef struct queued {
    struct queued *next; /* owned */
    buffer_t bytes;
} queued_t;

struct keeper_link {
    zloop_t *loop;                /* borrowed */
    const keeper_link_ops_t *ops; /* borrowed */
    void *arg;                    /* the owner's */
    int fd;                       /* owned */
    bool is_held;                 /* nothing is read */
    bool is_watched;
    queued_t *first, *last; /* owned; wait for room in the socket */
    size_t queued_bytes;
    uint8_t bytes[KEEPER_HEADER_SIZE + KEEPER_PIECE_MAX + 1];
};

static int on_keeper(zloop_t *loop, zmq_pollitem_t *item, void *arg);

static void watch(keeper_link_t *self)
{
    zmq_pollitem_t item = {.fd = self->fd};

    if (self->is_watched)
        zloop_poller_end(self->loop, &item);
    self->is_watched = false;
    if (!self->is_held)
        item.events |= ZMQ_POLLIN | ZMQ_POLLERR;
    if (self->first)
        item.events |= ZMQ_POLLOUT;
    if (!item.events)
        return;
    zloop_poller(self->loop, &item, on_keeper, self);
    zloop_poller_set_tolerant(self->loop, &item);
    self->is_watched = true;
}

int keeper_link_new(zloop_t *loop, const char *path,
                    const keeper_link_ops_t *ops, void *arg,
                    keeper_link_t **ret_link, fault_t *fault)
{
    cleanup_fd int fd = -1;
    int r = fd_connect_packets(path, &fd, fault);
    keeper_link_t *self;

    if (r < 0)
        return r;
    self = mem_new(sizeof *self);
    self->loop = loop;
    self->ops = ops;
    self->arg = arg;
    self->fd = take_fd(&fd);
    watch(self);
    *ret_link = self;
    return 0;
}

static void drop_first(keeper_link_t *self)
{
    queued_t *first = self->first;

    self->first = first->next;
    if (!self->first)
        self->last = NULL;
    self->queued_bytes -= first->bytes.size;
    buffer_reset(&first->bytes);
    free(first);
}

void keeper_link_destroy(keeper_link_t **self_p)
{
    keeper_link_t *self = *self_p;
    zmq_pollitem_t item;

    if (!self)
        return;
    item = (zmq_pollitem_t){.fd = self->fd};
    if (self->is_watched)
        zloop_poller_end(self->loop, &item);
    while (self->first)
        drop_first(self);
    close(self->fd);
    free(self);
    *self_p = NULL;
}

static bool send_bytes(keeper_link_t *self, const buffer_t *bytes)
{
    return send(self->fd, bytes->data, bytes->size, MSG_NOSIGNAL | MSG_DONTWAIT)
               >= 0
           || (errno != EAGAIN && errno != ENOBUFS && errno != EINTR);
}

static void flush(keeper_link_t *self)
{
    while (self->first && send_bytes(self, &self->first->bytes))
        drop_first(self);
    watch(self);
}

/* Sends a message, or queues it. If the keeper has ended, this is noticed when
 * the end of the connection is read. */
int keeper_link_send(keeper_link_t *self, const keeper_message_t *message,
                     fault_t *fault)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    queued_t *queued;

    keeper_encode(message, &bytes);
    if (!self->first && send_bytes(self, &bytes))
        return 0;
    if (self->queued_bytes + bytes.size > QUEUED_MAX)
        return fault_set(fault, EBUSY,
                         "%zu bytes wait for the process, and at most %u may: "
                         "send it again later",
                         self->queued_bytes, QUEUED_MAX);
    queued = mem_new(sizeof *queued);
    queued->bytes = bytes;
    bytes = BUFFER_EMPTY;
    self->queued_bytes += queued->bytes.size;
    if (self->last)
        self->last->next = queued;
    else
        self->first = queued;
    self->last = queued;
    watch(self);
    return 0;
}

void keeper_link_hold(keeper_link_t *self, bool is_held)
{
    if (self->is_held == is_held)
        return;
    self->is_held = is_held;
    watch(self);
}

/* Reads like recv(2). A peer that closes without having read what it was sent
 * breaks the connection, and what it has sent before can still be read. */
static ssize_t receive(keeper_link_t *self)
{
    ssize_t size =
        recv(self->fd, self->bytes, sizeof self->bytes, MSG_DONTWAIT);

    if (size < 0 && errno == ECONNRESET)
        size = recv(self->fd, self->bytes, sizeof self->bytes, MSG_DONTWAIT);
    return size;
}

/* Reads a message. *ret_is_there is false if the owner has destroyed the link.
 * Returns false if nothing more is to be read now. */
static bool read_one(keeper_link_t *self, bool *ret_is_there)
{
    keeper_message_t message;
    fault_t fault = {0, ""};
    ssize_t size = receive(self);

    *ret_is_there = true;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (size > 0
        && keeper_decode((bytes_t){self->bytes, (size_t) size}, &message,
                         &fault)
               == 0) {
        *ret_is_there = self->ops->on_message(self->arg, &message);
        return *ret_is_there && !self->is_held;
    }
    *ret_is_there = false;
    self->ops->on_closed(self->arg,
                         size > 0 ? fault.text : "its keeper has ended");
    return false;
}

static int on_keeper(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    keeper_link_t *self = arg;
    bool is_there = true;

    (void) loop;
    if (item->revents & ZMQ_POLLOUT)
        flush(self);
    if (self->is_held || !(item->revents & (ZMQ_POLLIN | ZMQ_POLLERR)))
        return 0;
    for (int i = 0; i < BATCH_MAX && read_one(self, &is_there); i++)
        continue;
    if (is_there)
        self->ops->on_pause(self->arg);
    return 0;
}
