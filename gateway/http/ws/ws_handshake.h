/* The opening handshake of a WebSocket. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WS_HANDSHAKE_H
#define HEARTH_GATEWAY_HTTP_WS_WS_HANDSHAKE_H

#include "gateway/http/ws/ws_client.h"

/* Returns true if the request is a handshake that can be accepted; if not, an
 * error was sent. */
bool ws_client_may_begin(exchange_t *exchange);
/* Returns true if the client offers a sub-protocol of this name, or none; if
 * not, an error was sent. */
bool ws_client_offers(exchange_t *exchange, const char *name);
/* Begins the WebSocket of the kernel that the first parameter names. Returns
 * NULL if it was refused with an error response. */
ws_client_t *ws_client_new(exchange_t *exchange);

#endif
