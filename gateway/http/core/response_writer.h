/* An exchange's answer on its way to the client. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_RESPONSE_WRITER_H
#define HEARTH_GATEWAY_HTTP_CORE_RESPONSE_WRITER_H

#include "gateway/http/core/internal.h"

/* Status line, header lines, empty line. */
void sender_head(const exchange_t *exchange, buffer_t *out);
/* Sends what the client takes. Behind the last of it the exchange is no more,
 * and the connection ready for the next one. Negative: it is to be closed. */
int sender_on_writable(struct lws *wsi, connection_t *connection);

#endif
