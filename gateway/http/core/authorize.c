/* Authentication, the check of origins, and the headers that every answer has
 * for browsers. A token in a header or the query is sufficient. A cookie is
 * sent by browsers without the user's intent, so the request must also show
 * that it comes from one of our pages: by its origin and, for a change, by the
 * XSRF token. */
#include "gateway/http/core/authorize.h"
#include "gateway/http/core/authorize_audit.h"

#include "base/clock.h"
#include "base/string_list.h"
#include "gateway/audit/audit.h"
#include "gateway/http/core/form.h"
#include "gateway/http/core/login_cookie.h"
#include "gateway/http/core/window_access.h"

#include <string.h>

char *authorize_cookie(const exchange_t *exchange, const char *name)
{
    return form_cookie(exchange->request.headers[HEADER_COOKIE], name);
}

/* --- Tokens --- */

/* Returns the token of "token X" or "Bearer X". NULL if the header or the token
 * is missing: clients without a token send an empty one. */
static const char *header_token(const exchange_t *exchange)
{
    static const char *const schemes[] = {"token", "bearer"};
    const char *text = exchange->request.headers[HEADER_AUTHORIZATION];

    for (size_t i = 0; text && i < sizeof schemes / sizeof *schemes; i++) {
        size_t size = strlen(schemes[i]);
        if (strncasecmp(text, schemes[i], size) != 0)
            continue;
        const char *token = text + size + strspn(text + size, " ");
        if (text[size] == ' ' && *token)
            return token;
    }
    return NULL;
}

/* Returns the token in the door's own header, NULL without that header. */
static const char *key_token(const exchange_t *exchange)
{
    static const header_t names[] = {HEADER_API_KEY, HEADER_ACCESS_TOKEN,
                                     HEADER_TRAFFIC_TOKEN};

    if (!exchange->door || !exchange->door->has_keys)
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (exchange->request.headers[names[i]])
            return exchange->request.headers[names[i]];
    return NULL;
}

const char *authorize_token(const exchange_t *exchange)
{
    const char *token = key_token(exchange);

    return token ? token : header_token(exchange);
}

unsigned authorize_bearer(http_t *http, const char *token,
                          char ret_who[TOKEN_ID_SIZE])
{
    unsigned scopes = tokens_check(http->tokens, token, strlen(token), ret_who);

    if (scopes)
        return scopes;
    window_access_revoke(http->window, tokens_windows_from(http->tokens));
    return window_access_check(http->window, token, clock_wall_us(), ret_who);
}

static void identify(exchange_t *exchange, bool is_bearer)
{
    tokens_t *auth = exchange->http->tokens;
    const char *token = authorize_token(exchange);

    if (!token && is_bearer)
        token = "";
    if (!token)
        token = exchange_argument(exchange, "token");
    if (token && (*token || is_bearer)) {
        exchange->scopes =
            authorize_bearer(exchange->http, token, exchange->who);
        exchange->is_by_token = exchange->scopes && !tokens_is_open(auth);
        return;
    }
    exchange->scopes = login_cookie_check(exchange, exchange->who);
    if (!exchange->scopes)
        exchange->scopes = tokens_check(auth, "", 0, exchange->who);
}

/* --- Origins --- */

static bool has_origins(const options_http_t *options)
{
    return options->allow_origin && *options->allow_origin;
}

/* Returns true if the configuration permits pages of this origin. */
static bool is_permitted(const exchange_t *exchange)
{
    char *const *at = exchange->http->options->http.allow_origin;

    for (; exchange->request.headers[HEADER_ORIGIN] && at && *at; at++)
        if (strcmp(*at, "*") == 0
            || strcasecmp(*at, exchange->request.headers[HEADER_ORIGIN]) == 0)
            return true;
    return false;
}

static bool is_own(const exchange_t *exchange)
{
    const char *authority =
        strstr(exchange->request.headers[HEADER_ORIGIN], "://");

    return authority && exchange->request.headers[HEADER_HOST]
           && strcasecmp(authority + 3, exchange->request.headers[HEADER_HOST])
                  == 0;
}

/* --- Hosts --- */

static bool is_loopback_address(const char *ip)
{
    return strncmp(ip, "127.", 4) == 0 || strcmp(ip, "::1") == 0
           || strcmp(ip, "localhost") == 0;
}

/* Returns true for "127.0.0.1", "127.1.2.3" and their like. */
static bool is_loopback_number(const char *name, size_t size)
{
    return size > 4 && strncmp(name, "127.", 4) == 0
           && strspn(name, "0123456789.") == size;
}

/* Returns true for names that lead to this machine alone: "localhost" and what
 * ends with ".localhost" (RFC 6761, 6.3), and loopback addresses. */
static bool is_local_host(const char *host)
{
    static const char name[] = "localhost", v6[] = "[::1]";
    size_t size = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    size_t length = sizeof name - 1;

    if (size > strlen(host) || (host[size] && host[size] != ':'))
        return false;
    if (size == sizeof v6 - 1 && memcmp(host, v6, size) == 0)
        return true;
    if (size < length || strncasecmp(host + size - length, name, length) != 0)
        return is_loopback_number(host, size);
    return size == length || host[size - length - 1] == '.';
}

/* Returns true for the host of an origin that the configuration permits: a
 * reverse proxy passes requests on under that name. */
static bool is_permitted_host(const exchange_t *exchange, const char *host)
{
    char *const *at = exchange->http->options->http.allow_origin;

    for (; at && *at; at++) {
        const char *authority = strstr(*at, "://");
        if (strcmp(*at, "*") == 0
            || (authority && strcasecmp(authority + 3, host) == 0))
            return true;
    }
    return false;
}

/* Returns true if the request names this machine, as every request on a
 * loopback address must. With DNS rebinding a foreign name leads here, and its
 * page would be one of ours. */
bool authorize_check_host(exchange_t *exchange)
{
    const char *host = exchange->request.headers[HEADER_HOST];

    if (!host || !is_loopback_address(exchange->http->options->http.ip)
        || is_local_host(host) || is_permitted_host(exchange, host))
        return true;
    authorize_note_refusal(exchange, "host");
    exchange_fail(exchange, 403,
                  "The host %.100s is not this machine; if a proxy of yours "
                  "has that name, http/allow_origin must have its origin",
                  host);
    return false;
}

/* --- Pages that ask --- */

/* Returns true for a request of another page. A browser names the origin of the
 * page that asks (Fetch Metadata), also where it sends no Origin: for a
 * picture, a script, a frame. A person who follows a link gets a new top-level
 * page; that shows nothing to the page of the link. */
static bool is_of_another_page(const exchange_t *exchange)
{
    const char *site = exchange->request.headers[HEADER_FETCH_SITE];
    const char *mode = exchange->request.headers[HEADER_FETCH_MODE];
    const char *dest = exchange->request.headers[HEADER_FETCH_DEST];

    if (!site || exchange->request.headers[HEADER_ORIGIN]
        || has_origins(&exchange->http->options->http)
        || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0)
        return false;
    return !(exchange->request.method & (METHOD_GET | METHOD_HEAD)) || !mode
           || strcmp(mode, "navigate") != 0 || !dest
           || strcmp(dest, "document") != 0;
}

static bool check_origin(exchange_t *exchange, bool is_websocket,
                         bool is_bearer)
{
    const char *origin = exchange->request.headers[HEADER_ORIGIN];

    if (exchange->is_by_token && !is_bearer)
        return true;
    if (origin ? is_own(exchange) || is_permitted(exchange)
               : !is_of_another_page(exchange))
        return true;
    authorize_note_refusal(exchange, "origin");
    /* The status codes are Jupyter Server's, and MCP's. */
    exchange_fail(exchange, is_websocket || is_bearer ? 403 : 404,
                  "Pages of %.200s may not use this gateway; http/allow_origin "
                  "names the permitted ones",
                  origin ? origin : "other sites");
    return false;
}

static bool check_xsrf(exchange_t *exchange)
{
    const unsigned harmless = METHOD_GET | METHOD_HEAD | METHOD_OPTIONS;
    const char *shown = exchange->request.headers[HEADER_XSRF];
    cleanup_free char *cookie = authorize_cookie(exchange, LOGIN_COOKIE_XSRF);

    if (exchange->request.method & harmless || exchange->is_by_token
        || tokens_is_open(exchange->http->tokens))
        return true;
    if (!shown)
        shown = exchange_argument(exchange, LOGIN_COOKIE_XSRF);
    if (shown && cookie && *cookie && tokens_equals(shown, cookie))
        return true;
    authorize_note_refusal(exchange, "xsrf");
    if (!shown || !cookie || !*cookie) {
        exchange_fail(exchange, 403, "'_xsrf' argument missing from %s",
                      method_text(exchange->request.method));
        return false;
    }
    exchange_fail(exchange, 403, "XSRF cookie does not match %s argument",
                  method_text(exchange->request.method));
    return false;
}

/* --- The checks in order --- */

/* Writes the names of the scopes with `between` them. */
static void name_scopes(unsigned scope, const char *between, buffer_t *out)
{
    json_auto_t *names = token_scopes_names(scope);
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
    {
        buffer_format(out, "%s%s", i ? between : "", json_string_value(name));
    }
}

void authorize_challenge(exchange_t *exchange, unsigned scope)
{
    cleanup_buffer buffer_t names = BUFFER_EMPTY;

    name_scopes(scope & SCOPE_ALL, " ", &names);
    exchange_header(exchange, "WWW-Authenticate",
                    "Bearer error=\"insufficient_scope\", scope=\"%s\"",
                    (const char *) names.data);
}

static bool check_scope(exchange_t *exchange, unsigned scope)
{
    cleanup_buffer buffer_t names = BUFFER_EMPTY;

    scope &= SCOPE_ALL;
    if (exchange->scopes & scope)
        return true;
    authorize_note_refusal(exchange, exchange->scopes ? "scope" : "token");
    if (!exchange->scopes) {
        exchange_fail(exchange, 401,
                      "A token is needed: `hearth gateway info` shows it; send "
                      "it as `Authorization: token ...`");
        return false;
    }
    authorize_challenge(exchange, scope);
    name_scopes(scope, " or ", &names);
    exchange_fail(exchange, 403, "This token lacks the scope %s",
                  (const char *) names.data);
    return false;
}

/* Returns true if one of the gateway's own pages asks, or no page. A page of
 * another origin may send a token and gets no cookie for it. */
static bool is_own_request(const exchange_t *exchange)
{
    return exchange->request.headers[HEADER_ORIGIN]
               ? is_own(exchange)
               : !is_of_another_page(exchange);
}

bool authorize_check(exchange_t *exchange, unsigned scope, bool is_websocket)
{
    bool is_bearer = scope & AUTHORIZE_BEARER;

    if (!authorize_check_host(exchange))
        return false;
    identify(exchange, is_bearer);
    if (scope && !exchange->scopes)
        return check_scope(exchange, scope);
    if (!check_origin(exchange, is_websocket, is_bearer))
        return false;
    if (!scope)
        return true;
    if (!check_scope(exchange, scope) || !check_xsrf(exchange))
        return false;
    if (!is_bearer && !is_websocket && is_own_request(exchange))
        login_cookie_offer(exchange);
    return true;
}

/* Writes headers that forbid browsers to run, frame or store an answer, or to
 * guess its type. */
static void write_shields(bool is_page, bool may_be_kept, buffer_t *out)
{
    if (!is_page)
        buffer_text(out, "Content-Security-Policy: default-src 'none'; "
                         "frame-ancestors 'self'; sandbox\r\n");
    buffer_text(out, "X-Content-Type-Options: nosniff\r\n"
                     "Referrer-Policy: no-referrer\r\n");
    if (!may_be_kept)
        buffer_text(out, "Cache-Control: no-store\r\n");
}

/* Writes a configured value unchanged, but on one line. */
static void write_configured(const char *name, const char *value, buffer_t *out)
{
    if (!value)
        return;
    buffer_format(out, "Access-Control-%s: ", name);
    for (; *value; value++)
        buffer_append(out, (unsigned char) *value < ' ' ? " " : value, 1);
    buffer_text(out, "\r\n");
}

void authorize_headers(const exchange_t *exchange, buffer_t *out)
{
    const options_http_t *options = &exchange->http->options->http;

    write_shields(exchange->response.is_page,
                  exchange->response.head.size
                      && strstr((const char *) exchange->response.head.data,
                                "Cache-Control"),
                  out);
    if (!has_origins(options))
        return;
    if (string_list_have(options->allow_origin, "*")) {
        buffer_text(out, "Access-Control-Allow-Origin: *\r\n");
    } else {
        buffer_text(out, "Vary: Origin\r\n");
        if (!is_permitted(exchange))
            return;
        buffer_format(out, "Access-Control-Allow-Origin: %s\r\n",
                      exchange->request.headers[HEADER_ORIGIN]);
        if (options->allow_credentials)
            buffer_text(out, "Access-Control-Allow-Credentials: true\r\n");
    }
    write_configured(
        "Expose-Headers",
        options->expose_headers ? options->expose_headers : "Location", out);
    write_configured("Allow-Methods", options->allow_methods, out);
    write_configured("Allow-Headers", options->allow_headers, out);
}
