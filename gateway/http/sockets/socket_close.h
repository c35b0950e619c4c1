/* The close of a WebSocket: with a status and a sentence by the gateway, with
 * what has to be checked by a client. */
#ifndef HEARTH_GATEWAY_HTTP_SOCKETS_SOCKET_CLOSE_H
#define HEARTH_GATEWAY_HTTP_SOCKETS_SOCKET_CLOSE_H

#include <libwebsockets.h>

#include <stddef.h>
#include <stdint.h>

/* Statuses that libwebsockets has no names for. */
#define WS_CLOSE_SERVICE_RESTART 1012
#define WS_CLOSE_TRY_AGAIN_LATER 1013

/* Closes with a status and a reason, which is copied. Returns -1, which is the
 * callback's value for that. */
int socket_close_send(struct lws *wsi, int status, const char *reason);
/* Checks the payload of the client's close frame. Returns 0 if it may be
 * echoed; negative if it is invalid, and the connection is closed as RFC 6455
 * requires. */
int socket_close_receive(struct lws *wsi, const uint8_t *bytes, size_t size);

#endif
