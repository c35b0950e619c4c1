/* One client's connection, driven by libwebsockets' callbacks: requests and
 * their answers, then perhaps a WebSocket. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_CONNECTION_H
#define HEARTH_GATEWAY_HTTP_SERVER_CONNECTION_H

#include "gateway/http/core/http.h"

/* Data that libwebsockets keeps for each connection. */
typedef struct {
    exchange_t *exchange;        /* owned; the request that is being served */
    ws_client_t *ws_client;      /* owned; once it is a WebSocket of a kernel */
    terminal_socket_t *terminal; /* owned; or of a terminal */
    feed_socket_t *feed;         /* owned; or of a page that watches */
    bool is_counted;             /* among http->connections */
    unsigned body_ends;          /* of this request, that were reported */
} connection_t;

/* Handles what libwebsockets reports of a connection: the callback of the
 * protocols that clients speak. */
int connection_callback(struct lws *wsi, enum lws_callback_reasons reason,
                        void *user, void *in, size_t size);

#endif
