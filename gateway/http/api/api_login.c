/* A page that asks a person for the token, and sets the cookie. */
#include "base/hex.h"
#include "gateway/http/api/route.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/core/authorize_audit.h"

#include "gateway/http/core/form.h"
#include "gateway/http/core/login_cookie.h"

#include <sodium.h>

#include <string.h>

static const char page[] =
    "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<title>hearth</title></head><body><h1>hearth</h1><p>%s</p>"
    "<form method=\"post\" action=\"%s/login\">"
    "<input type=\"hidden\" name=\"_xsrf\" value=\"%s\">"
    "<input type=\"hidden\" name=\"next\" value=\"%s\">"
    "<label>Token <input type=\"password\" name=\"token\" autofocus></label> "
    "<button>Log in</button></form>"
    "<p><code>hearth gateway info</code> shows the token.</p></body></html>\n";

/* Returns true for a path on this gateway, so that no redirect leaves it. */
static bool is_own_path(const char *path)
{
    if (!path || path[0] != '/' || path[1] == '/' || path[1] == '\\')
        return false;
    for (; *path; path++)
        if ((unsigned char) *path <= ' ' || strchr("\"<>\\'&", *path))
            return false;
    return true;
}

static char *xsrf_of(exchange_t *exchange)
{
    char *cookie = authorize_cookie(exchange, LOGIN_COOKIE_XSRF);
    char text[33];
    uint8_t random[16];

    if (hex_is(cookie, 2 * sizeof random))
        return cookie;
    free(cookie);
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(text, sizeof text, random, sizeof random);
    return mem_text(text);
}

static void show_page(exchange_t *exchange, int status, const char *sentence,
                      const char *next)
{
    cleanup_free char *xsrf = xsrf_of(exchange);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    buffer_format(&text, page, sentence, exchange->http->base, xsrf,
                  is_own_path(next) ? next : "");
    exchange->response.is_page = true;
    exchange_header(exchange, "Content-Security-Policy",
                    "default-src 'none'; form-action 'self'; "
                    "frame-ancestors 'none'; base-uri 'none'");
    exchange_header(exchange, "Set-Cookie",
                    "_xsrf=%s; Path=%s/; SameSite=Strict%s", xsrf,
                    exchange->http->base, login_cookie_secure(exchange));
    exchange_bytes(exchange, status, "text/html; charset=utf-8", text.data,
                   text.size);
}

static void grant(exchange_t *exchange, const char *id, const char *next)
{
    login_cookie_give(exchange, id);
    exchange_header(exchange, "Location", "%s/%s", exchange->http->base,
                    is_own_path(next) ? next + 1 : "login");
    exchange_empty(exchange, 302);
}

static void show(exchange_t *exchange)
{
    const char *token = exchange_argument(exchange, "token");
    const char *next = exchange_argument(exchange, "next");
    char id[TOKEN_ID_SIZE];

    if (token
        && tokens_check(exchange->http->tokens, token, strlen(token), id)) {
        grant(exchange, id, next);
        return;
    }
    if (token)
        authorize_note_refusal(exchange, "login");
    show_page(exchange, token ? 401 : 200,
              exchange->scopes ? "You are logged in." : "A token is needed.",
              next);
}

/* Reads the token. Jupyter names the form's field password, and a program shows
 * the XSRF token in a header. */
static void take(exchange_t *exchange)
{
    cleanup_free char *token = form_form(&exchange->request.body, "token");
    cleanup_free char *field =
        form_form(&exchange->request.body, LOGIN_COOKIE_XSRF);
    const char *shown =
        field && *field ? field : exchange->request.headers[HEADER_XSRF];
    cleanup_free char *next = form_form(&exchange->request.body, "next");
    cleanup_free char *cookie = authorize_cookie(exchange, LOGIN_COOKIE_XSRF);
    char id[TOKEN_ID_SIZE];

    if (!token || !*token) {
        free(token);
        token = form_form(&exchange->request.body, "password");
    }
    if (!shown || !cookie || !tokens_equals(shown, cookie)) {
        authorize_note_refusal(exchange, "xsrf");
        exchange_fail(exchange, 403, "'_xsrf' argument missing from POST");
        return;
    }
    if (token
        && tokens_check(exchange->http->tokens, token, strlen(token), id)) {
        grant(exchange, id, next);
    } else {
        authorize_note_refusal(exchange, "login");
        show_page(exchange, 401, "That is not the token.", next);
    }
    if (token)
        sodium_memzero(token, strlen(token));
}

static void leave(exchange_t *exchange)
{
    login_cookie_clear(exchange);
    exchange_header(exchange, "Location", "%s/login", exchange->http->base);
    exchange_empty(exchange, 302);
}

const route_t login_routes[] = {
    {METHOD_GET, "/login", SCOPE_NONE, show},
    {METHOD_POST, "/login", SCOPE_NONE, take},
    {METHOD_GET, "/logout", SCOPE_NONE, leave},
    {0},
};
