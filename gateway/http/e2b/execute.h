/* The handler of POST /execute. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_EXECUTE_H
#define HEARTH_GATEWAY_HTTP_E2B_EXECUTE_H

#include "gateway/http/core/http.h"

void sandbox_execute(exchange_t *exchange);

#endif
