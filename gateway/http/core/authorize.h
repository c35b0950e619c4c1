/* Authenticates clients, and checks their scopes. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_AUTHORIZE_H
#define HEARTH_GATEWAY_HTTP_CORE_AUTHORIZE_H

#include "gateway/http/core/http.h"

/* Beside SCOPE_ bits of a scope: the token comes in the header Authorization,
 * or at E2B's door in that of its clients, and no page of another origin may
 * ask. */
#define AUTHORIZE_BEARER (1u << 8)

/* Writes the header WWW-Authenticate of a 403 (RFC 6750), which names the
 * scopes of which one is needed. A 401 has that header from
 * response_writer_head. */
void authorize_challenge(exchange_t *exchange, unsigned scope);
/* Returns true unless the gateway listens on a loopback address and the request
 * names another machine; then an error was sent. */
bool authorize_check_host(exchange_t *exchange);
/* Returns the scopes of a token's bearer, a window's too; 0: it is not valid.
 * Otherwise `ret_who` is the token's id. */
unsigned authorize_bearer(http_t *http, const char *token,
                          char ret_who[TOKEN_ID_SIZE]);
/* Returns true if the request names this machine, the client has the scope and
 * its origin is permitted; if not, an error was sent. */
bool authorize_check(exchange_t *exchange, unsigned scope, bool is_websocket);
/* Returns the token that the request has in a header, lent; NULL if it has
 * none. */
const char *authorize_token(const exchange_t *exchange);
/* Adds the header lines that every answer has. */
void authorize_headers(const exchange_t *exchange, buffer_t *out);
/* Returns a cookie of the request, to be freed; NULL without it. */
char *authorize_cookie(const exchange_t *exchange, const char *name);

#endif
