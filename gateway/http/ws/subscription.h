/* The sessions that somebody looks at: one attachment each, however many
 * viewers. It stays for a while after the last one has gone, for clients that
 * open a connection for each call. */
#ifndef HEARTH_GATEWAY_HTTP_WS_SUBSCRIPTION_H
#define HEARTH_GATEWAY_HTTP_WS_SUBSCRIPTION_H

#include "gateway/http/core/internal.h"
#include "notebooks/journal/index.h"

#define WATCH_PATIENCE_S 30

/* A request that is answered when the session has come so far. */
typedef struct awaiting awaiting_t;
/* A request whose answer goes on with the session. */
typedef struct follower follower_t;

struct watch {
    http_t *http;          /* borrowed */
    char id[FRONT_ID_MAX]; /* the session's */
    bool is_greeted;       /* HELLO came */
    bool is_over;          /* BYE came: nothing is told any more */
    char *journal;         /* owned; its folder, once greeted */
    char *kernel_session;  /* owned; for headers that are made here */
    char *state;           /* owned; "idle" … */
    char *farewell;        /* owned; why it is over, a sentence */
    uint64_t last_seq;     /* the journal's last number as told */
    viewer_t *viewers;     /* owned by their connections */
    awaiting_t *awaiting;  /* owned */
    follower_t *followers; /* owned */
    positions_t positions; /* where in the journal things are */
    int64_t unused_since;  /* monotonic ms, when there is no viewer */
};

zhashx_t *watch_table_new(void);
/* The session's watch, attaching it when there is none yet. NULL: `fault`. */
watch_t *watch_open(http_t *http, const char *session, fault_t *fault);
/* Lent; NULL when nobody looks at it. */
watch_t *watch_find(const http_t *http, const char *session);
/* The session is alive and can be spoken to. */
bool watch_is_alive(const watch_t *self);
/* How many WebSockets a session has. */
unsigned watch_viewer_count(const http_t *http, const char *session);
void watch_add(watch_t *self, viewer_t *viewer);
void watch_remove(watch_t *self, viewer_t *viewer);

typedef enum {
    AWAIT_HELLO, /* the session can be spoken to */
    AWAIT_READY, /* it is ready for the next cell after it was not */
    AWAIT_END,   /* it is over */
} await_t;

/* Answers a request later: `fn` gets the session's model when it has come so
 * far, NULL when it is over. After WATCH_PATIENCE_S `fn` gets an empty
 * object. */
void watch_await(watch_t *self, exchange_t *exchange, await_t what,
                 desk_reply_fn *fn);
/* Wakes the exchange whenever the session tells something, and each second,
 * until watch_forget. */
void watch_follow(watch_t *self, exchange_t *exchange);
void watch_forget(const exchange_t *exchange);

void watch_on_event(http_t *http, const front_event_t *event);
/* Each second. */
void watch_on_tick(http_t *http);
/* Closes every WebSocket, when what waits for it has gone out. */
void watch_close_all(http_t *http, int status);
bool watch_has_viewers(const http_t *http);
void watch_destroy_all(http_t *http);

#endif
