/* hearth's sessions as Jupyter's models, and what both REST resources do
 * with them. */
#ifndef HEARTH_GATEWAY_HTTP_API_JUPYTER_MODELS_H
#define HEARTH_GATEWAY_HTTP_API_JUPYTER_MODELS_H

#include "gateway/http/core/internal.h"
#include "gateway/http/ws/subscription.h"

/* A kernel model: id, name, last_activity, execution_state, connections.
 * Given. */
json_t *model_kernel(const http_t *http, const json_t *session);
bool model_is_gone(const json_t *session);
const char *model_text(const json_t *object, const char *name);
/* A body may name this profile, or none; one that is forced counts for all. */
bool model_has_profile(const http_t *http, const char *name);
/* Order's content for a session that is to be made as this body says; NULL:
 * refused, and answered. Given. */
json_t *model_creation(exchange_t *exchange, const json_t *body,
                       const char *profile);
/* Attaches to the session, so that what is awaited will be told; when it is
 * there already `fn` is called at once. False: refused, and answered. */
bool model_await(exchange_t *exchange, const char *id, await_t what,
                 desk_reply_fn *fn);
/* Whether there are lists here; false: there are none, and that was
 * answered. */
bool model_may_list(exchange_t *exchange);
/* The session of a reply, if it is the one with this id and no other whose id
 * begins so: the registry takes the beginning for the whole. Lent; NULL. */
const json_t *model_asked(const json_t *reply, const char *id);
/* Whether the reply says that there is no such kernel as the first parameter
 * names; that was answered. */
bool model_is_unknown(exchange_t *exchange, const json_t *reply);
/* {"id": the first parameter}; given. */
json_t *model_id(const exchange_t *exchange);

#endif
