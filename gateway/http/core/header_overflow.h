/* Requests whose head is bigger than http/header_max. libwebsockets parts from
 * such a client without a word, and says so to nobody but its log, before it
 * does: that is when the client gets his answer. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_HEADER_OVERFLOW_H
#define HEARTH_GATEWAY_HTTP_CORE_HEADER_OVERFLOW_H

#include "gateway/http/core/internal.h"

/* A connection that is read from now on. */
void oversize_watch(http_t *http, connection_t *connection, struct lws *wsi);
void oversize_forget(http_t *http, connection_t *connection);
/* Its request was answered: what it sends next is another one's head. */
void oversize_rest(connection_t *connection);
/* A line of libwebsockets' log, as it is written. */
void oversize_on_log(http_t *http, const char *line);

#endif
