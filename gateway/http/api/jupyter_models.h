/* Converts hearth's sessions into Jupyter's models, and does what the REST
 * resources of kernels and sessions share. */
#ifndef HEARTH_GATEWAY_HTTP_API_JUPYTER_MODELS_H
#define HEARTH_GATEWAY_HTTP_API_JUPYTER_MODELS_H

#include "gateway/http/core/http.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/subscription.h"

/* Returns a kernel model, which the caller owns: id, name, last_activity,
 * execution_state, connections. */
json_t *jupyter_model_kernel(const http_t *http, const json_t *session);
/* Returns true if the session is gone because its kernel ended by itself: not
 * on request and not by a time limit. */
bool jupyter_model_has_died(const json_t *session);
/* Returns true if each of these members of the object is a text, null or
 * absent; if not, a 400 response was sent. `names` ends with NULL. */
bool jupyter_model_are_texts(exchange_t *exchange, const json_t *object,
                             const char *const *names);
/* Returns true if a body may name this profile (NULL: none). A forced profile
 * replaces every one. */
bool jupyter_model_has_profile(const http_t *http, const char *name);
/* Returns the content of a request for a new session as the body describes it,
 * owned by the caller. NULL if it was refused with an error response. */
json_t *jupyter_model_creation(exchange_t *exchange, const json_t *body,
                               const char *profile);
/* Attaches to the session and waits for a state; if the state is reached
 * already, `fn` is called at once. Returns false if it was refused with an
 * error response. */
bool jupyter_model_await(exchange_t *exchange, const char *id, await_t what,
                         registry_client_reply_fn *fn);
/* Takes the registry's reply to a restart that the exchange awaits
 * (AWAIT_READY): its patience begins, or an error is sent. */
void jupyter_model_on_restart(exchange_t *exchange, const json_t *reply);
/* Calls `fn` with NULL when the session, which the registry's reply says has
 * ended, has reported its end here, too. After that a client finds it gone
 * wherever it looks. */
void jupyter_model_await_end(exchange_t *exchange, const json_t *reply,
                             registry_client_reply_fn *fn);
/* Returns true if sessions may be listed; if not, an error was sent. */
bool jupyter_model_may_list(exchange_t *exchange);
/* Returns true if the reply says that there is no kernel of the first
 * parameter's id; then an error was sent. */
bool jupyter_model_is_unknown(exchange_t *exchange, const json_t *reply);
/* Returns {"id": the first parameter}, which the caller owns. */
json_t *jupyter_model_id(const exchange_t *exchange);

#endif
