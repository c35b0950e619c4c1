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

/* The connection to the gateway: gateways come and go. */
typedef struct {
    int fd;                   /* owned; -1: no gateway */
    uint64_t generation;      /* its number; epoll may report an old one */
    frame_decoder_t *decoder; /* owned */
    bool is_greeted;          /* HELLO came on it */
    bool is_stuck;            /* its socket is full: the thread goes on */
} link_connection_t;

/* The gateway's messages that Python's threads have not taken. */
typedef struct {
    request_row_t requests, inputs, answers;
    int requests_fd, inputs_fd; /* owned; readable if there are some */
    bool is_polling;            /* the taker of requests reads them itself */
    bool is_signalled;          /* requests_fd was written to */
    link_request_t *tools;      /* owned; the newest TOOLS, or NULL */
    uint64_t tools_count;       /* TOOLS that came */
    uint64_t accepted;          /* the highest number of a request that came */
    uint64_t accepted_comm;     /* the same, for a comm message */
} link_incoming_t;

/* The request that is served. */
typedef struct {
    uint64_t number;  /* or 0 */
    bool is_awaiting; /* it is a cell that has sent AWAITING */
    unsigned strikes; /* how often STRUCK may still be sent */
} link_served_t;

/* Printed text on its way to become an event. */
typedef struct {
    int pipes[2]; /* owned; reading ends */
    text_decoder_t decoders[2];
    bool is_choked;      /* no room: the pipes are not read */
    uint64_t attributed; /* cause of text of unknown origin */
    buffer_t text;       /* waits, of one stream and one request */
    link_stream_t stream;
    uint64_t request;
    int64_t committed_at;  /* when text last became an event */
    int64_t written_at;    /* when text was last written */
    uint64_t line_request; /* of the last text of stdout */
    size_t line;           /* bytes of that since its last line feed */
    buffer_t content;      /* scratch of link_commit_text */
    uint8_t bytes[PIPE_READ];
} link_printed_t;

/* The environment and the listeners of keepers, which are programs of processes
 * beside the kernel. */
typedef struct {
    char **environment;          /* owned */
    int passed[LINK_PASSED_MAX]; /* owned; listeners that came along */
    size_t passed_count;
} link_keepers_t;

struct link {
    pthread_mutex_t lock;
    pthread_cond_t sent;     /* everything was handed to the gateway */
    pthread_cond_t answered; /* an answer to a call came */
    bool is_child;           /* a fork of the process that owns the link */
    int epoll;               /* owned */
    int loop;                /* the epoll of Python's loop; -1: not known */
    int listener;            /* owned */
    int timer;               /* owned; text that waits becomes an event */
    bool is_armed;           /* the timer runs */
    int room_fd;             /* owned; readable if there is room again */
    bool is_awaited;         /* an event waits for room */
    link_connection_t connection;
    link_incoming_t incoming;
    link_served_t served;
    link_printed_t printed;
    outbox_t *outbox; /* owned */
    link_keepers_t keepers;
};

static inline void link_signal(int fd)
{
    eventfd_write(fd, 1);
}

#endif
