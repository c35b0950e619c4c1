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
/* Checks the payload of the client's close frame. Returns 0 if it may be
 * echoed; negative if it is invalid, and the connection is closed as RFC 6455
 * requires. */
int ws_client_receive_close(struct lws *wsi, const uint8_t *bytes, size_t size);

#endif
