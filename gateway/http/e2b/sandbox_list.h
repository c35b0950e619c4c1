/* The handler of the list of sandboxes. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_SANDBOX_LIST_H
#define HEARTH_GATEWAY_HTTP_E2B_SANDBOX_LIST_H

#include "gateway/http/core/http.h"

void sandbox_list(exchange_t *exchange);

#endif
