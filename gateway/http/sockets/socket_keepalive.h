/* The keepalive of a WebSocket: pings its client where the configuration says
 * so, and vouches for it. libwebsockets would disconnect a client that was
 * silent for a long time (gateway/http/server/context.c); TCP has that task
 * (gateway/http/server/listener.c). Plain data of a connection. */
#ifndef HEARTH_GATEWAY_HTTP_SOCKETS_SOCKET_KEEPALIVE_H
#define HEARTH_GATEWAY_HTTP_SOCKETS_SOCKET_KEEPALIVE_H

#include <libwebsockets.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t next_ping;  /* monotonic ms; 0: none */
    int64_t next_vouch; /* monotonic ms */
    bool wants_ping;    /* a ping is to be written */
} socket_keepalive_t;

/* Begins, at `now` (monotonic ms). An interval of 0 is no pings. */
void socket_keepalive_begin(socket_keepalive_t *self, int64_t interval_ms,
                            int64_t now);
/* Handles the time. Returns true if a ping has become due: then the socket is
 * to be written. The interval is that of the configuration now; 0 ends the
 * pings. */
bool socket_keepalive_tick(socket_keepalive_t *self, struct lws *wsi,
                           int64_t interval_ms, int64_t now);
/* Writes the ping that is due, if there is one. Returns a negative number if
 * the connection is to be closed. Between fragments of a message it may be
 * called, within one it may not. */
int socket_keepalive_write(socket_keepalive_t *self, struct lws *wsi);

#endif
