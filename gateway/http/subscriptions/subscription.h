/* The sessions that have HTTP clients: one attachment per session, shared by
 * all of its clients. It is kept for a while after the last client has gone,
 * for clients that open a connection for each call. */
#ifndef HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_SUBSCRIPTION_H
#define HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_SUBSCRIPTION_H

#include "gateway/http/core/http.h"
#include "gateway/http/rpc/registry_client.h"
#include "notebooks/journal/index.h"

#define SUBSCRIPTION_PATIENCE_S 30

/* An object that gets all events of a session: a member of its owner, which the
 * ops get. */
typedef struct subscriber subscriber_t;

typedef struct {
    bool is_connection; /* it is a client's WebSocket */
    bool sees_all;      /* also messages for one client alone */
    /* The session can get requests; is_first is false if events were left out.
     */
    void (*hello)(subscriber_t *self, bool is_first);
    void (*event)(subscriber_t *self, const frontend_event_t *event);
    /* The subscriber has to end, with this code and sentence. */
    void (*end)(subscriber_t *self, int status, const char *text);
    /* The session's state has changed; NULL if that is not wanted. */
    void (*state)(subscriber_t *self);
    /* Called each second; monotonic ms. */
    void (*tick)(subscriber_t *self, int64_t now);
    /* The subscription is destroyed. */
    void (*detach)(subscriber_t *self);
} subscriber_ops_t;

struct subscriber {
    const subscriber_ops_t *ops;
    char name[FRONTEND_CLIENT_MAX + 1]; /* "<who>/<session_id>" */
    subscriber_t *next;                 /* borrowed; of the same session */
};

/* A request that is answered when the session reaches a state. */
typedef struct awaiting awaiting_t;
/* A request whose answer continues with the session's events. */
typedef struct follower follower_t;

struct subscription {
    http_t *http;              /* borrowed */
    char id[FRONTEND_ID_MAX];  /* the session's */
    bool is_greeted;           /* HELLO has come */
    bool is_over;              /* BYE has come: no events follow */
    char *journal;             /* owned; its folder, once greeted */
    char *kernel_session;      /* owned; for headers that are made here */
    char *state;               /* owned; "idle" … */
    char *ended;               /* owned; when the session went last */
    char *farewell;            /* owned; why it is over, a sentence */
    uint64_t last_seq;         /* the journal's last known number */
    uint64_t running;          /* the request that the kernel works on, or 0 */
    subscriber_t *subscribers; /* owned by their connections */
    subscriber_t *upcoming;    /* borrowed; the next one of a walk over them */
    awaiting_t *awaiting;      /* owned */
    follower_t *followers;     /* owned */
    journal_index_t index;     /* positions in the journal */
    int64_t unused_since;      /* monotonic ms, while it has no client */
};

zhashx_t *subscription_table_new(void);
/* Returns the session's subscription, lent. Makes one and attaches to the
 * session if none exists or the last one is over. NULL on failure. */
subscription_t *subscription_open(http_t *http, const char *session,
                                  fault_t *fault);
/* Returns the session's subscription, lent; NULL if it has none. */
subscription_t *subscription_find(const http_t *http, const char *session);
/* Returns true if the session is alive and can get requests. */
bool subscription_is_alive(const subscription_t *self);
/* Returns true if the session has reported that it went at `ended`, a time of
 * its model. It may have been revived after that. */
bool subscription_has_seen_end(const subscription_t *self, const char *ended);
/* Returns true if the session's kernel is ready and works on no request. */
bool subscription_is_idle(const subscription_t *self);
/* Returns the number of a session's WebSockets. */
unsigned subscription_client_count(const http_t *http, const char *session);
void subscription_add(subscription_t *self, subscriber_t *subscriber);
void subscription_remove(subscription_t *self, subscriber_t *subscriber);

typedef enum {
    AWAIT_HELLO, /* the session can get requests */
    AWAIT_READY, /* it is ready for the next cell after it was not */
    AWAIT_END,   /* it is over */
} await_t;

/* Answers a request later: `fn` gets the session's model when the state is
 * reached, NULL when the session is over. After SUBSCRIPTION_PATIENCE_S `fn`
 * gets an empty object. For AWAIT_READY that time begins with
 * subscription_start_patience. */
void subscription_await(subscription_t *self, exchange_t *exchange,
                        await_t what, registry_client_reply_fn *fn);
/* Begins the patience of an exchange that awaits AWAIT_READY: the registry has
 * accepted the restart. Before that the restart may have waited for packages.
 */
void subscription_start_patience(const exchange_t *exchange);
/* Wakes the exchange at each event of the session, and each second, until
 * subscription_forget. */
void subscription_follow(subscription_t *self, exchange_t *exchange);
/* Returns true if the exchange follows the session, whose events come. */
bool subscription_is_followed(const exchange_t *exchange, const char *session);
void subscription_forget(const exchange_t *exchange);

void subscription_on_event(http_t *http, const frontend_event_t *event);
/* Does what is due; called each second. */
void subscription_on_tick(http_t *http);
/* Closes every WebSocket, after sending what waits for it. */
void subscription_close_all(http_t *http, int status);
bool subscription_has_clients(const http_t *http);
void subscription_destroy_all(http_t *http);

#endif
