/* The members of a link. Only the files of the link include it, in the order
 * keepers, connection, streams, gateway, link. Their functions are called with
 * the lock held. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_STATE_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_STATE_H

#include "kernels/hearth_kernel/link/link.h"
#include "kernels/hearth_kernel/link/outbox.h"
#include "kernels/hearth_kernel/link/text.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>

#define LINK_PASSED_MAX 4           /* descriptors whose KEEP has not come */
#define STRIKES         8           /* STRUCK for each request */
#define PIPE_READ       (64 * 1024) /* what a pipe holds by default */
#define MILLISECOND     1000000     /* in nanoseconds */

enum source {
    LISTENER,
    CONNECTION,
    TIMER,
    PIPE_STDOUT,
    PIPE_STDERR
};

struct link {
    pthread_mutex_t lock;
    pthread_cond_t sent;     /* everything was handed to the gateway */
    pthread_cond_t answered; /* an answer to a call came */
    bool is_child;           /* a fork of the process that owns the link */
    int epoll;               /* owned, as all descriptors here but the next */
    int loop;                /* the epoll of Python's loop; -1: not known */
    int listener;
    int connection;      /* -1: no gateway */
    uint64_t generation; /* number of the connection; epoll may report an old
                            one */
    bool is_greeted;     /* HELLO came on this connection */
    bool is_stuck;       /* the socket is full: the thread goes on */
    bool is_choked;      /* no room: the pipes are not read */
    bool is_awaited;     /* an event waits for room */
    bool is_armed;       /* the timer runs */
    bool is_polling;     /* the taker of requests reads them itself */
    bool is_signalled;   /* requests_fd was written to */
    int timer, requests_fd, inputs_fd, room_fd;
    int pipes[2]; /* reading ends */
    text_decoder_t decoders[2];
    frame_decoder_t *decoder; /* owned */

    request_row_t requests, inputs, answers;
    request_t *tools;       /* owned; the newest TOOLS, or NULL */
    uint64_t tools_count;   /* TOOLS that came */
    uint64_t accepted;      /* the highest number of a request that came */
    uint64_t accepted_comm; /* the same, for a comm message */
    uint64_t running;       /* the request that is served, or 0 */
    bool is_awaiting;       /* that request is a cell that has sent AWAITING */
    unsigned strikes;       /* how often STRUCK may still be sent */
    uint64_t attributed;    /* cause of text of unknown origin */

    buffer_t text; /* waits to become an event */
    link_stream_t text_stream;
    uint64_t text_request;
    int64_t committed_at; /* when text last became an event */
    int64_t written_at;   /* when text was last written */
    buffer_t content;     /* scratch of commit_text */

    outbox_t *outbox;            /* owned */
    char **environment;          /* owned; of processes beside the kernel */
    int passed[LINK_PASSED_MAX]; /* owned; listeners that came along */
    size_t passed_count;
    uint8_t bytes[PIPE_READ];
};

static inline void link_signal(int fd)
{
    eventfd_write(fd, 1);
}

#endif
