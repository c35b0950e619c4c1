/* The WebSocket of one client of a terminal (terminal_message.h). */
#ifndef HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_SOCKET_H
#define HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_SOCKET_H

#include "gateway/http/core/http.h"

/* Begins the WebSocket of the terminal that the first parameter names. Returns
 * NULL if it was refused with an error response. */
terminal_socket_t *terminal_socket_new(exchange_t *exchange);
void terminal_socket_destroy(terminal_socket_t **self_p);
/* Handles a callback of libwebsockets. Returns a negative number if the
 * connection is to be closed. */
int terminal_socket_callback(terminal_socket_t *self, struct lws *wsi,
                             enum lws_callback_reasons reason, void *in,
                             size_t size);

#endif
