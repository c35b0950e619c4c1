/* The feed: one WebSocket for each page, over which it opens topics and gets
 * what changes (docs/reference/http.md, "The feed"). The first message of a
 * page is its token, since a browser's WebSocket has no header Authorization.
 */
#ifndef HEARTH_GATEWAY_HTTP_WINDOW_FEED_SOCKET_H
#define HEARTH_GATEWAY_HTTP_WINDOW_FEED_SOCKET_H

#include "gateway/http/core/http.h"

#define FEED_PATH     "/hearth/feed"
#define FEED_PROTOCOL "v1.feed.hearth"

/* Begins a page's WebSocket. Returns NULL if it was refused with an error
 * response. */
feed_socket_t *feed_socket_new(exchange_t *exchange);
void feed_socket_destroy(feed_socket_t **self_p);
/* Handles a callback of libwebsockets. Returns a negative number if the
 * connection is to be closed. */
int feed_socket_callback(feed_socket_t *self, struct lws *wsi,
                         enum lws_callback_reasons reason, void *in,
                         size_t size);

/* Notes that sessions have come or gone. */
void feed_on_sessions(http_t *http);
/* Does what is due; called each second. */
void feed_on_tick(http_t *http);
/* Closes every socket: the gateway restarts. */
void feed_close_all(http_t *http);
bool feed_has_clients(const http_t *http);
void feed_destroy(http_t *http);

#endif
