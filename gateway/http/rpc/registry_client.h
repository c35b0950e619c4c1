/* Requests to the registry on behalf of HTTP requests. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_REGISTRY_CLIENT_H
#define HEARTH_GATEWAY_HTTP_RPC_REGISTRY_CLIENT_H

#include "gateway/http/core/http.h"

typedef void registry_client_reply_fn(exchange_t *exchange,
                                      const json_t *reply);
/* Sends a request to the registry; `content` is taken. `fn` is called with the
 * reply unless the client of the exchange goes. */
void registry_client_ask(exchange_t *exchange, const char *type,
                         json_t *content, registry_client_reply_fn *fn);
/* Asks like registry_client_ask, but while a request under this name has no
 * reply, another one is not sent: the one reply goes to both. */
void registry_client_ask_once(exchange_t *exchange, const char *name,
                              const char *type, json_t *content,
                              registry_client_reply_fn *fn);

typedef void registry_client_call_fn(void *owner, const json_t *reply);
/* Asks for `owner`, which is no HTTP request. `content` is taken. `fn` is
 * called with the reply unless the owner is forgotten before. Returns false if
 * the gateway stops: then no reply comes. */
bool registry_client_call(http_t *http, void *owner, const char *type,
                          json_t *content, registry_client_call_fn *fn);
void registry_client_forget(http_t *http, const void *owner);

void registry_client_on_answer(http_t *http, const frontend_event_t *event);
void registry_client_destroy(http_t *http);
/* Returns true if the reply's status is "ok". If not, its error was sent to the
 * client with the HTTP status that goes with it. */
bool registry_client_is_ok(exchange_t *exchange, const json_t *reply);

#endif
