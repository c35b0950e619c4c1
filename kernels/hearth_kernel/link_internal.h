/* What the three files of the link share; for them alone. Everything here is
 * called with the lock held. link.c has the thread and the way in and out,
 * link_text.c what is printed, link_gateway.c the connection. */
#ifndef HEARTH_KERNEL_LINK_INTERNAL_H
#define HEARTH_KERNEL_LINK_INTERNAL_H

#include "kernels/hearth_kernel/link.h"
#include "kernels/hearth_kernel/outbox.h"
#include "kernels/hearth_kernel/text.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>

#define PIPE_READ   (64 * 1024) /* what a pipe holds by default */
#define MILLISECOND 1000000     /* in nanoseconds */

enum source {
    LISTENER,
    CONNECTION,
    TIMER,
    PIPE_STDOUT,
    PIPE_STDERR
};

struct link {
    pthread_mutex_t lock;
    bool is_child; /* a fork of the process that owns the link */
    int epoll;     /* owned, as all descriptors here but the next */
    int loop;      /* the epoll of Python's loop; -1: not known */
    int listener;
    int connection;      /* -1: no gateway */
    uint64_t generation; /* of the connection; epoll may tell of an old one */
    bool is_greeted;     /* HELLO came on this connection */
    bool is_stuck;       /* the socket is full: the thread goes on */
    bool is_choked;      /* no room: the pipes are not read */
    bool is_awaited;     /* somebody waits for room */
    bool is_armed;       /* the timer runs */
    bool is_polling;     /* who takes the requests reads them itself */
    bool is_signalled;   /* requests_fd was written to */
    int timer, requests_fd, inputs_fd, room_fd;
    int pipes[2]; /* reading ends */
    text_decoder_t decoders[2];
    frame_decoder_t *decoder; /* owned */

    request_row_t requests, inputs;
    uint64_t accepted;   /* the highest number of a request that came */
    uint64_t running;    /* the request that is served, or 0 */
    uint64_t attributed; /* cause of text of unknown origin */

    buffer_t text; /* waits to become an event */
    link_stream_t text_stream;
    uint64_t text_request;
    int64_t committed_at; /* when text last became an event */
    int64_t written_at;   /* when text was last written */
    buffer_t content;     /* scratch of commit_text */

    outbox_t *outbox; /* owned */
    uint8_t bytes[PIPE_READ];
};

static inline void link_signal(int fd)
{
    eventfd_write(fd, 1);
}

/* ---- link_text.c ---- */

int64_t link_now(void);
/* A partial line is seen when the timer runs out. */
void link_arm_timer(link_t *self);
void link_on_timer(link_t *self);
/* The text that waits becomes an event. */
void link_commit_text(link_t *self);
/* What lies in the pipes becomes text that waits. */
void link_drain_pipes(link_t *self);
void link_on_pipe(link_t *self, link_stream_t stream);
/* epoll's events; 0: whoever writes to the pipes waits. */
void link_watch_pipes(link_t *self, uint32_t events);

/* ---- link_gateway.c ---- */

/* Sends until the socket is full; then the thread goes on when it is not. */
void link_send_events(link_t *self);
/* The newest gateway is the right one: an older may be a dead one's. */
void link_accept(link_t *self);
void link_on_connection(link_t *self, uint32_t events);
void link_read_connection(link_t *self);
/* Python's loop waits for the gateway itself, and the thread behind it: what
 * comes wakes the loop while it waits, and the thread while it does not. */
void link_watch_connection(link_t *self);

#endif
