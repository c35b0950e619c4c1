/* The data that the parts of the HTTP frontend share: the options, the
 * connection to the sessions, and the objects that live as long as the gateway.
 * One thread. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_HTTP_H
#define HEARTH_GATEWAY_HTTP_CORE_HTTP_H

#include "protocol/jspan.h"

#include "gateway/config/options.h"
#include "gateway/frontends/frontend.h"
#include "gateway/http/core/exchange.h"
#include "gateway/http/core/hangups.h"
#include "gateway/http/core/memory_quota.h"
#include "gateway/http/core/tokens.h"
#include "notebooks/journal/log_key.h"

#include <czmq.h>
#include <jansson.h>
#include <libwebsockets.h>

typedef struct subscription subscription_t;
typedef struct ws_client ws_client_t;
typedef struct web_terminal web_terminal_t;
typedef struct terminal_socket terminal_socket_t;
typedef struct feed_socket feed_socket_t;
typedef struct feed feed_t;
typedef struct metrics metrics_t;
typedef struct mcp_listener mcp_listener_t;
typedef struct window_access window_access_t;
typedef struct files_client files_client_t;
typedef struct export_worker export_worker_t;
typedef struct chunked_upload chunked_upload_t;

/* A request to the registry whose reply is due. */
typedef struct registry_request registry_request_t;
/* A request about host tools of a WebSocket whose reply is due. */
typedef struct tools_request tools_request_t;

/* Open connections, and how many there may be (gateway/config/fd_limits.h). */
typedef struct {
    unsigned count;
    unsigned max;
    unsigned terminals; /* of them are WebSockets of terminals */
    hangups_t *hangups; /* owned; watches those that are not read */
} http_connections_t;

/* Points in time, wall clock. */
typedef struct {
    int64_t started_us;
    int64_t active_us; /* of the last request */
} http_clocks_t;

/* Calls of the Model Context Protocol, and things that they leave for others.
 */
typedef struct {
    struct mcp_call *calls;    /* borrowed; under way */
    mcp_listener_t *listeners; /* owned; clients that subscribe */
    json_t *fetch_keys;        /* owned; of tool_fetch.c, by what was asked */
} http_mcp_t;

/* Objects that survive a restart (subscriptions/resume_state.h); each owned. */
typedef struct {
    json_t *sessions;  /* Jupyter's sessions, by id */
    json_t *cursors;   /* of clients that may return */
    json_t *terminals; /* Jupyter's terminals, by name */
    json_t *sandboxes; /* E2B's sandboxes, by the ids of their sessions */
} http_kept_t;

struct http {
    const options_t *options; /* borrowed */
    frontend_t *frontend;     /* owned; the connection to the sessions */
    tokens_t *tokens;         /* owned */
    window_access_t *window;  /* owned; lets browsers in */
    struct authorize_audit *access_log; /* owned; NULL: no audit log */
    char *base;                  /* owned; base URL without its last slash */
    char *url;                   /* owned; whole, ends with a slash */
    int port;                    /* it listens on */
    void (*drain)(http_t *self); /* takes what the sessions have sent */
    const struct route *(*each_route)(size_t *cursor); /* api/route.h */
    http_connections_t connections;
    unsigned answers; /* whole ones, of which a part is still to be sent */
    http_clocks_t clocks;
    uint64_t counter;                /* of requests to registry and files */
    registry_request_t *requests;    /* owned; to the registry, unanswered */
    tools_request_t *tools_requests; /* owned; likewise */
    files_client_t *files_client;    /* owned */
    export_worker_t *export_worker;  /* owned */
    chunked_upload_t *uploads;       /* owned; files that come in pieces */
    memory_quotas_t memory;          /* of what clients sent */
    zhashx_t *subscriptions;         /* owned; session id -> subscription_t */
    zhashx_t *executions;            /* owned; session id -> executions_t */
    zhashx_t *session_set;           /* owned; ids of the living sessions */
    bool is_informed;                /* the registry has sent the session set */
    http_kept_t kept;                /* over a restart */
    zhashx_t *terminals;             /* owned; name -> web_terminal_t */
    http_mcp_t mcp;                  /* Model Context Protocol */
    feed_t *feed;       /* owned; the feed of pages; NULL until there is one */
    metrics_t *metrics; /* owned */
    uint8_t journal_key[LOG_KEY_SIZE]; /* of the journals that are read */
};

#endif
