/* The WebSocket of one client: what it sends becomes requests, its session's
 * events become frames. The memory of waiting frames is bounded. Past the bound
 * the client has to catch up: when it has taken what waits, it reads the
 * journal from its cursor. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WS_CLIENT_H
#define HEARTH_GATEWAY_HTTP_WS_WS_CLIENT_H

#include "gateway/http/core/http.h"
#include "gateway/http/sockets/socket_keepalive.h"
#include "gateway/http/subscriptions/resume_state.h"
#include "gateway/http/subscriptions/subscription.h"
#include "notebooks/journal/follower.h"
#include "protocol/websocket.h"

/* A frame on its way out. */
typedef struct frame_node frame_node_t;
/* Its host tools (ws_tools.h). */
typedef struct ws_tools ws_tools_t;

struct ws_client {
    subscriber_t subscriber;      /* first member: gets its session's events */
    http_t *http;                 /* borrowed */
    subscription_t *subscription; /* borrowed; NULL once it is over */
    struct lws *wsi;              /* borrowed; NULL before and after */
    bool is_returning; /* its client gave a session_id: it may return */
    websocket_form_t form;
    bool text_only;             /* its client cannot read binary frames */
    size_t frame_max;           /* size limit of a frame for it */
    unsigned scopes;            /* SCOPE_ bits */
    buffer_t inbox;             /* the frame that is coming in */
    zlistx_t *waiting;          /* owned; requests until HELLO */
    uint64_t waiting_bytes;     /* size of their frames */
    uint64_t held;              /* bytes of both that count (memory_quota.h) */
    frame_node_t *first, *last; /* owned; the queue */
    size_t queued;              /* bytes in it */
    size_t loose;               /* bytes of it that no journal has */
    journal_follower_t *follower; /* owned; how far messages are queued */
    resume_cursor_t cursor;       /* what was handed to the socket */
    bool is_settled;              /* where it begins is known: HELLO has come */
    buffer_t greeting;            /* its parent, until its idle was queued */
    ws_tools_t *tools;            /* owned; or NULL */
    bool is_repeating;            /* it may have sent what it reads already */
    struct {
        int status;     /* not 0: close when the queue is empty */
        char text[100]; /* why, for the client */
    } close;
    socket_keepalive_t keepalive;
};

#endif
