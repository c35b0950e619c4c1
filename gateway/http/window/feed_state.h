/* Types and functions that only the files of the feed's sockets share. */
#ifndef HEARTH_GATEWAY_HTTP_WINDOW_FEED_STATE_H
#define HEARTH_GATEWAY_HTTP_WINDOW_FEED_STATE_H

#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/sockets/socket_keepalive.h"
#include "gateway/http/window/feed_socket.h"
#include "gateway/http/window/feed_topic.h"

struct feed_socket {
    feed_socket_t *next;  /* owned by the feed */
    http_t *http;         /* borrowed */
    struct lws *wsi;      /* borrowed; NULL before and after */
    char *token;          /* owned; NULL until it has come */
    buffer_t inbox;       /* the frame that is coming in */
    zlistx_t *answers;    /* owned; texts that are no topic's */
    size_t answers_bytes; /* in them */
    buffer_t out;         /* the message that is being written */
    size_t sent;          /* of it */
    int64_t credit;       /* bytes; less than 1: the page takes nothing */
    zlistx_t *topics;     /* owned; the next one to be asked is the first */
    int status;           /* not 0: it is closed, with this text */
    const char *why;
    bool is_gathering;   /* a timer runs, then it is written */
    int64_t token_until; /* monotonic ms */
    socket_keepalive_t keepalive;
};

struct feed {
    feed_list_t *list;      /* owned */
    feed_socket_t *sockets; /* owned by their connections */
};

/* Makes the socket be written when it takes more. `owner` is a socket. */
void feed_socket_wake(void *owner);
/* Closes the socket with a sentence, which must be static, when its message is
 * out. */
void feed_socket_end(feed_socket_t *self, int status, const char *why);
/* Returns the topic's place in the list; NULL if it is not open. */
void *feed_socket_find_topic(feed_socket_t *self, const char *name);
/* Writes the next message. Returns a negative number if the connection is to be
 * closed. */
int feed_socket_write(feed_socket_t *self);

#endif
