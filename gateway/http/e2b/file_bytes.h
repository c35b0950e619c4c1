/* Handlers of GET and POST /files. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_FILE_BYTES_H
#define HEARTH_GATEWAY_HTTP_E2B_FILE_BYTES_H

#include "gateway/http/core/http.h"

void file_read_bytes(exchange_t *exchange);
void file_write_bytes(exchange_t *exchange);

#endif
