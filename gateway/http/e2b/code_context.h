/* Contexts of E2B's interpreter. A session has one kernel, so a sandbox has one
 * context; a further one is refused. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_CODE_CONTEXT_H
#define HEARTH_GATEWAY_HTTP_E2B_CODE_CONTEXT_H

#include "gateway/http/core/http.h"

/* Returns true if a request to run code names the one context, or Python, or
 * nothing; if not, it was refused. */
bool code_context_check(exchange_t *exchange, const json_t *body);

/* Handlers of routes. */
void code_context_create(exchange_t *exchange);
void code_context_list(exchange_t *exchange);
void code_context_restart(exchange_t *exchange);
void code_context_remove(exchange_t *exchange);

#endif
