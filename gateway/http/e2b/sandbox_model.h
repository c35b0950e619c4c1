/* Sandboxes as E2B's REST shows them. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_SANDBOX_MODEL_H
#define HEARTH_GATEWAY_HTTP_E2B_SANDBOX_MODEL_H

#include "gateway/http/core/http.h"

#define SANDBOX_TIMEOUT_V2 300.0 /* seconds, if a client names no other */
#define SANDBOX_TIMEOUT_V1 15.0

/* Returns the answer to a client that has made the sandbox or connects to it,
 * owned by the caller. Its tokens are the client's own. */
json_t *sandbox_model_access(const exchange_t *exchange, const char *session,
                             const json_t *note);
/* Returns the sandbox as lists show it, owned by the caller. `session` is the
 * registry's model. */
json_t *sandbox_model(const http_t *http, const json_t *session,
                      const json_t *note);
/* Reads `timeout`, a number of seconds; `usual` if it is absent. Returns false
 * if it was refused. */
bool sandbox_model_timeout(exchange_t *exchange, const json_t *body,
                           double usual, double *ret_seconds);

#endif
