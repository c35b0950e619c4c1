/* What the files of gateway/http share; one thread. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_INTERNAL_H
#define HEARTH_GATEWAY_HTTP_CORE_INTERNAL_H

/* Before jansson.h: both have a json_is_integer, there a macro. */
#include "protocol/json.h"

#include "gateway/config/options.h"
#include "gateway/frontends/frontend.h"
#include "gateway/http/core/body_file.h"
#include "gateway/http/core/exchange.h"
#include "gateway/http/core/memory_quota.h"
#include "gateway/http/core/tokens.h"
#include "notebooks/journal/log_key.h"

#include <czmq.h>
#include <jansson.h>
#include <libwebsockets.h>

typedef struct watch watch_t;
typedef struct viewer viewer_t;
typedef struct metrics metrics_t;
typedef struct courier courier_t;
typedef struct clerk clerk_t;
typedef struct upload upload_t;

#define PARTINGS 16

/* What libwebsockets keeps for each connection. */
typedef struct connection {
    struct connection *next, *before; /* borrowed; in http->clients */
    struct lws *wsi;                  /* borrowed; its own */
    uint64_t read;        /* bytes, before the head that is being read */
    exchange_t *exchange; /* owned; the request that is being served */
    viewer_t *viewer;     /* owned; once it is a WebSocket */
    bool is_counted;      /* among http->connections */
    bool is_declined;     /* the request that wanted a WebSocket is answered */
} connection_t;

/* One who was refused and goes on sending (lingering_close.c). */
typedef struct {
    int fd;    /* owned, while there are ticks */
    int ticks; /* left; 0: none is here */
} parting_t;

/* An order to the registry whose reply is due. */
typedef struct desk_order desk_order_t;

struct http {
    const options_t *options;             /* borrowed */
    front_t *front;                       /* owned */
    auth_t *auth;                         /* owned */
    struct access_notes *notes_of_access; /* owned; NULL: none are made */
    zsock_t *pipe;                        /* borrowed; of the actor */
    struct lws_context *context;          /* owned */
    struct lws_vhost *vhost;              /* borrowed from the context */
    char *base;           /* owned; base URL without the last slash */
    char *url;            /* owned; whole, ends with a slash */
    int port;             /* that it listens on */
    int listener;         /* owned until libwebsockets has it */
    bool is_ending;       /* the loop is about to end */
    unsigned connections; /* open ones */
    unsigned room;        /* for so many of them (gateway/config/fd_limits.h) */
    connection_t *clients; /* borrowed; the same, owned by theirs */
    parting_t partings[PARTINGS];
    size_t parting_at;    /* where the next one goes */
    uint64_t counter;     /* of orders */
    desk_order_t *orders; /* owned; those whose reply is due */
    courier_t *courier;   /* owned; orders about files */
    clerk_t *clerk;       /* owned; makes documents of recordings */
    upload_t *uploads;    /* owned; files that come in chunks */
    deposits_t deposits;  /* files that come at once */
    holdings_t holdings;  /* what else comes, in memory */
    zhashx_t *watches;    /* owned; session id -> watch_t */
    zhashx_t *runs;       /* owned; session id -> runs_t */
    zhashx_t *roster;     /* owned; ids of the sessions that live */
    bool is_informed;     /* the roster was told */
    bool is_open;         /* clients are accepted */
    json_t *sessions;     /* owned; Jupyter's sessions, by id */
    json_t *cursors;      /* owned; of clients that may come back */
    metrics_t *metrics;   /* owned */
    uint8_t journal_key[CHAIN_KEY_SIZE]; /* of the journals that viewers read */
    int64_t started_us;                  /* wall clock */
    int64_t active_us;                   /* of the last request */
};

/* --- gateway/http/server/connection.c --- */

int connection_callback(struct lws *wsi, enum lws_callback_reasons reason,
                        void *user, void *in, size_t size);
/* The exchange has its answer. */
void connection_wake(exchange_t *exchange);
/* It waits for it: until the next wake nothing is read or written. */
void connection_rest(exchange_t *exchange);

/* --- authorize.c --- */

/* Who asks, and whether this origin may; false: it was answered. */
bool access_check(exchange_t *exchange, unsigned scope, bool is_websocket);
/* Header lines that each answer has. */
void access_headers(const exchange_t *exchange, buffer_t *out);
/* Those of them that an answer has to what was no request. */
void access_shields(buffer_t *out);
/* A cookie of the request; to be freed, NULL when there is none. */
char *access_cookie(const exchange_t *exchange, const char *name);
/* The name of the cookie of those who logged in; to be freed. */
char *access_cookie_name(const exchange_t *exchange);

/* As whom the audit log names who asks; "unknown" when no token was right.
 * Gives back `ret_who`. */
#define ACCESS_WHO_SIZE (AUTH_ID_SIZE + 16)
const char *access_who(const exchange_t *exchange,
                       char ret_who[ACCESS_WHO_SIZE]);

/* --- authorize_audit.c: the audit log hears who used a key, and who had none
 * ---
 */

struct access_notes *access_notes_new(void);
void access_notes_destroy(struct access_notes **self_p);
/* A request is refused; `why` is one of the words in docs/AUDIT.md. */
void access_note_refusal(const exchange_t *exchange, const char *why);
/* A token was right and its bearer got something that stays: a cookie, a
 * WebSocket. `session` is "" where none is concerned. */
void access_note_use(const exchange_t *exchange, const char *event,
                     const char *who, const char *session);
/* Tokens that come and go are told from now on. */
void access_notes_watch(http_t *http);
void access_notes_on_tick(http_t *http);

/* --- gateway/http/rpc/registry_client.c: orders to the registry --- */

typedef void desk_reply_fn(exchange_t *exchange, const json_t *reply);
/* `content` is taken. `fn` is called with the reply unless the client goes. */
void desk_order(exchange_t *exchange, const char *type, json_t *content,
                desk_reply_fn *fn);
void desk_on_answer(http_t *http, const front_event_t *event);
void desk_forget(const exchange_t *exchange);
void desk_destroy(http_t *http);
/* Answers with what the registry said was wrong. True: nothing was. */
bool desk_is_ok(exchange_t *exchange, const json_t *reply);

/* --- gateway/http/ws/ws_handshake.c: a WebSocket begins --- */

/* The request is a handshake that can be answered; false: it is none, and
 * that was answered. */
bool viewer_may_begin(exchange_t *exchange);
/* The request asks for a WebSocket and may have one. The kernel is the
 * first parameter. NULL: it gets none; without an answer viewer_decline has
 * to find out why, as an ordinary request. */
viewer_t *viewer_new(exchange_t *exchange);
void viewer_decline(exchange_t *exchange);

#endif
