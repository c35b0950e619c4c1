/* See login_cookie.h. A browser sends a cookie to every port of its host, so
 * the cookie is given to as few clients as possible. A token alone is no
 * reason: programs that send one with each request need no cookie. A client
 * that has opened the page to log in has the cookie `_xsrf`. So it keeps
 * cookies and can show what a change by cookie requires. Emacs does that, and
 * opens its WebSocket by the cookie.
 *
 * The cookie names its token and has its scopes. Tokens of windows
 * (window_access.h) have no cookie. */
#include "gateway/http/core/login_cookie.h"

#include "base/clock.h"
#include "gateway/http/core/authorize_audit.h"
#include "gateway/http/core/form.h"

#include <string.h>

#define DAYS 30
#define PATH "/api/" /* of Jupyter's clients */

const char *login_cookie_secure(const exchange_t *exchange)
{
    return exchange->http->options->http.certificate ? "; Secure" : "";
}

static char *name_of(const exchange_t *exchange)
{
    /* Ports share cookies: two gateways on one host need different names. */
    return mem_format("hearth-%d", exchange->http->port);
}

unsigned login_cookie_check(const exchange_t *exchange,
                            char ret_who[TOKEN_ID_SIZE])
{
    cleanup_free char *name = name_of(exchange);
    cleanup_free char *value =
        form_cookie(exchange->request.headers[HEADER_COOKIE], name);

    return value ? tokens_check_cookie(exchange->http->tokens, value,
                                       strlen(value), clock_wall_us(), ret_who)
                 : 0;
}

void login_cookie_give(exchange_t *exchange, const char *id)
{
    char who[EXCHANGE_WHO_SIZE];
    int64_t expires = clock_wall_us() + (int64_t) DAYS * 86400 * 1000000;
    cleanup_free char *name = name_of(exchange);
    cleanup_free char *value =
        tokens_cookie(exchange->http->tokens, id, expires);

    snprintf(who, sizeof who, "token=%s", id);
    authorize_note_use(exchange, "login", who, "");
    exchange_header(exchange, "Set-Cookie",
                    "%s=%s; Path=%s/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
                    name, value, exchange->http->base, DAYS * 86400,
                    login_cookie_secure(exchange));
}

void login_cookie_offer(exchange_t *exchange)
{
    cleanup_free char *xsrf = form_cookie(
        exchange->request.headers[HEADER_COOKIE], LOGIN_COOKIE_XSRF);
    char ignored[TOKEN_ID_SIZE];

    if (exchange->is_by_token && xsrf && *xsrf
        && strncmp(exchange->request.path, PATH, strlen(PATH)) == 0
        && tokens_has(exchange->http->tokens, exchange->who)
        && !login_cookie_check(exchange, ignored))
        login_cookie_give(exchange, exchange->who);
}

void login_cookie_clear(exchange_t *exchange)
{
    cleanup_free char *name = name_of(exchange);

    exchange_header(exchange, "Set-Cookie",
                    "%s=; Path=%s/; Max-Age=0; HttpOnly; SameSite=Strict%s",
                    name, exchange->http->base, login_cookie_secure(exchange));
}
