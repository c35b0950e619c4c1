/* One WebSocket client, from its handshake to its end: turns its session's
 * events into frames, and handles libwebsockets' callbacks for its connection.
 */
#ifndef HEARTH_GATEWAY_HTTP_WS_WEBSOCKET_H
#define HEARTH_GATEWAY_HTTP_WS_WEBSOCKET_H

#include "gateway/http/ws/ws_client.h"

/* The functions that its session calls. */
extern const subscriber_ops_t ws_client_ops;

void ws_client_destroy(ws_client_t **self_p);
/* Leaves the session, and keeps the position for a client that returns. */
void ws_client_detach(ws_client_t *self);
/* Handles a callback of libwebsockets. Returns a negative number if the
 * connection is to be closed. */
int ws_client_callback(ws_client_t *self, struct lws *wsi,
                       enum lws_callback_reasons reason, void *in, size_t size);
/* Finds where the client begins in the journal, after HELLO. */
void ws_client_settle(ws_client_t *self);

#endif
