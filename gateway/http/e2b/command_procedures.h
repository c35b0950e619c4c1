/* Handlers of the service process.Process that have one answer. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_COMMAND_PROCEDURES_H
#define HEARTH_GATEWAY_HTTP_E2B_COMMAND_PROCEDURES_H

#include "gateway/http/core/http.h"

void command_list(exchange_t *exchange);
void command_send_input(exchange_t *exchange);
void command_stream_input(exchange_t *exchange);
void command_close_input(exchange_t *exchange);
void command_send_signal(exchange_t *exchange);
void command_update(exchange_t *exchange);

#endif
