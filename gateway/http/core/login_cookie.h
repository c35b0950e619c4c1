/* The login cookie: a browser, or a client that keeps cookies as one, acts by
 * it as the token that it was issued for (tokens.h). */
#ifndef HEARTH_GATEWAY_HTTP_CORE_LOGIN_COOKIE_H
#define HEARTH_GATEWAY_HTTP_CORE_LOGIN_COOKIE_H

#include "gateway/http/core/http.h"

/* The cookie that a client repeats in a header when it changes something. */
#define LOGIN_COOKIE_XSRF "_xsrf"

/* Returns "; Secure" if the gateway has a certificate, otherwise "". */
const char *login_cookie_secure(const exchange_t *exchange);
/* Returns the scopes of the request's cookie, 0 if it has no valid one.
 * Otherwise `ret_who` is the id of its token. */
unsigned login_cookie_check(const exchange_t *exchange,
                            char ret_who[TOKEN_ID_SIZE]);
/* Adds the cookie of that token to the answer, and notes it in the audit log.
 */
void login_cookie_give(exchange_t *exchange, const char *id);
/* Gives the client the cookie of the request's token, if it has opened the page
 * to log in and has no valid cookie. */
void login_cookie_offer(exchange_t *exchange);
/* Makes the client forget its cookie. */
void login_cookie_clear(exchange_t *exchange);

#endif
