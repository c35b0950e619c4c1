/* The actor's loop: libwebsockets' own, which also watches the front, the
 * pipe, the listening socket and a clock. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_SERVER_H
#define HEARTH_GATEWAY_HTTP_SERVER_SERVER_H

#include "gateway/http/core/internal.h"

/* Whether it is one of our own descriptors, not a client. */
bool server_is_own(struct lws *wsi);
/* One of our own descriptors is readable. */
int server_on_descriptor(http_t *self, struct lws *wsi);
/* Takes what the front has. */
void server_drain(http_t *self);

#endif
