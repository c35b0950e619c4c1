/* Turns frames from a client into requests to its session. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WS_RECEIVE_H
#define HEARTH_GATEWAY_HTTP_WS_WS_RECEIVE_H

#include "gateway/http/ws/ws_client.h"

zlistx_t *ws_client_waiting_new(void);
/* Sends the requests that came before HELLO. */
void ws_client_send_waiting(ws_client_t *self);
/* Reads bytes of a frame. Returns a negative number if the connection is to be
 * closed. */
int ws_client_receive(ws_client_t *self, struct lws *wsi, const void *bytes,
                      size_t size);

#endif
