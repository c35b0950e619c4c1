/* Handlers of requests about a whole sandbox. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_SANDBOX_LIFE_H
#define HEARTH_GATEWAY_HTTP_E2B_SANDBOX_LIFE_H

#include "gateway/http/core/http.h"

void sandbox_connect(exchange_t *exchange);
void sandbox_show(exchange_t *exchange);
void sandbox_end(exchange_t *exchange);
void sandbox_set_timeout(exchange_t *exchange);
void sandbox_health(exchange_t *exchange);

#endif
