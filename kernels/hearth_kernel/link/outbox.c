/* See outbox.h. A linked list of encoded frames with a mark at the first that
 * is not wholly sent. Guarded by the link's lock; lives as long as the link,
 * which is as long as the process. */
#include "kernels/hearth_kernel/link/outbox.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define SEND_PARTS 64 /* events in one system call */

struct event {
    struct event *next;
    uint64_t seq;
    buffer_t frame; /* owned; encoded */
};

struct outbox {
    struct event *first;  /* owned, with all that follow it */
    struct event **end;   /* where the next one is put */
    struct event *unsent; /* the first that is not wholly sent */
    buffer_t greeting;    /* goes before it */
    size_t sent;          /* bytes of the first thing to send that are out */
    size_t retained;      /* bytes of all events */
    size_t retain;        /* bound of it */
    uint64_t last;        /* seq of the newest event */
};

outbox_t *outbox_new(size_t retain)
{
    outbox_t *self = mem_new(sizeof *self);

    self->end = &self->first;
    self->retain = retain;
    return self;
}

bool outbox_has_room(const outbox_t *self, size_t size)
{
    return !self->retained || self->retained + size <= self->retain;
}

void outbox_put(outbox_t *self, frame_t *event)
{
    struct event *kept = mem_new(sizeof *kept);

    event->seq = kept->seq = ++self->last;
    frame_encode(event, &kept->frame);
    *self->end = kept;
    self->end = &kept->next;
    self->retained += kept->frame.size;
    if (!self->unsent)
        self->unsent = kept;
}

void outbox_forget(outbox_t *self, uint64_t acked)
{
    while (self->first && self->first != self->unsent
           && self->first->seq <= acked) {
        struct event *event = self->first;

        self->first = event->next;
        if (!self->first)
            self->end = &self->first;
        self->retained -= event->frame.size;
        buffer_reset(&event->frame);
        free(event);
    }
}

uint64_t outbox_newest(const outbox_t *self)
{
    return self->last;
}

uint64_t outbox_oldest(const outbox_t *self)
{
    return self->first ? self->first->seq : self->last + 1;
}

bool outbox_is_sent(const outbox_t *self)
{
    return !self->unsent;
}

void outbox_stop(outbox_t *self)
{
    buffer_clear(&self->greeting);
    /* A frame that was cut in the middle is sent whole on the next
     * connection. */
    self->unsent = self->first;
    self->sent = 0;
}

void outbox_restart(outbox_t *self, const frame_t *greeting, uint64_t acked)
{
    outbox_stop(self);
    self->unsent = NULL;
    outbox_forget(self, acked);
    self->unsent = self->first;
    frame_encode(greeting, &self->greeting);
}

static size_t collect(const outbox_t *self, struct iovec parts[SEND_PARTS])
{
    size_t count = 0;

    if (self->greeting.size)
        parts[count++] =
            (struct iovec){self->greeting.data, self->greeting.size};
    for (struct event *event = self->unsent; event && count < SEND_PARTS;
         event = event->next)
        parts[count++] = (struct iovec){event->frame.data, event->frame.size};
    if (count) {
        parts[0].iov_base = (uint8_t *) parts[0].iov_base + self->sent;
        parts[0].iov_len -= self->sent;
    }
    return count;
}

/* Notes that `size` more bytes are out. */
static void advance(outbox_t *self, size_t size)
{
    self->sent += size;
    if (self->greeting.size) {
        if (self->sent < self->greeting.size)
            return;
        self->sent -= self->greeting.size;
        buffer_clear(&self->greeting);
    }
    while (self->unsent && self->sent >= self->unsent->frame.size) {
        self->sent -= self->unsent->frame.size;
        self->unsent = self->unsent->next;
    }
}

int outbox_send(outbox_t *self, int socket)
{
    struct iovec parts[SEND_PARTS];

    for (;;) {
        struct msghdr message = {.msg_iov = parts};
        ssize_t sent;

        message.msg_iovlen = collect(self, parts);
        if (!message.msg_iovlen)
            return 0;
        sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0)
            advance(self, (size_t) sent);
        else if (errno == ENOBUFS || errno == ENOMEM)
            return -EAGAIN;
        else if (errno != EINTR)
            return -errno;
    }
}
