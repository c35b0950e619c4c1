/* Finds the sandbox that a request at E2B's door is for. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_SANDBOX_TARGET_H
#define HEARTH_GATEWAY_HTTP_E2B_SANDBOX_TARGET_H

#include "gateway/http/core/http.h"

/* Returns the whole id of the session, lent: from the header E2b-Sandbox-Id, or
 * from a Host like 49999-ID.localhost. NULL if the request was refused; a
 * sandbox that is gone is answered with 502, as its clients expect. */
const char *sandbox_target(exchange_t *exchange);

#endif
