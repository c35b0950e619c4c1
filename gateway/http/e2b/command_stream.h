/* Handlers of the service process.Process whose answer is a stream. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_COMMAND_STREAM_H
#define HEARTH_GATEWAY_HTTP_E2B_COMMAND_STREAM_H

#include "gateway/http/core/http.h"

void command_start(exchange_t *exchange);
void command_connect(exchange_t *exchange);

#endif
