/* An exchange's answer on its way to the client. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_RESPONSE_WRITER_H
#define HEARTH_GATEWAY_HTTP_CORE_RESPONSE_WRITER_H

#include "gateway/http/core/http.h"

/* Status line, header lines, empty line. */
void response_writer_head(const exchange_t *exchange, buffer_t *out);
/* Sends what the client takes. After the last of it *exchange_p is destroyed,
 * and the connection ready for the next one. Negative: it is to be closed. */
int response_writer_on_writable(struct lws *wsi, exchange_t **exchange_p);

#endif
