/* Makes sandboxes: handlers of the routes of E2B's door. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_SANDBOX_CREATION_H
#define HEARTH_GATEWAY_HTTP_E2B_SANDBOX_CREATION_H

#include "gateway/http/core/http.h"

void sandbox_create(exchange_t *exchange);       /* POST /v2/sandboxes */
void sandbox_create_first(exchange_t *exchange); /* POST /sandboxes */

#endif
