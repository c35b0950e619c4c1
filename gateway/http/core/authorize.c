/* Who asks, from where, and what every answer says to browsers. A token in a
 * header or the query speaks for itself; a cookie is sent by browsers on
 * their own, so its bearer must also show that the page is ours (origin, and
 * for what changes something the XSRF token). */
#include "gateway/http/core/internal.h"

#include "base/clock.h"
#include "base/texts.h"
#include "gateway/audit/audit.h"
#include "gateway/http/core/form.h"

#include <string.h>

#define XSRF_COOKIE "_xsrf"

char *access_cookie_name(const exchange_t *exchange)
{
    /* Ports share cookies: two gateways on one host must not share this. */
    return mem_format("hearth-%d", exchange->http->port);
}

char *access_cookie(const exchange_t *exchange, const char *name)
{
    return fields_cookie(exchange->cookie, name);
}

/* --- Tokens --- */

/* The token of "token X" or "Bearer X"; NULL when the header holds none: an
 * empty one is sent by clients that have no token. */
static const char *header_token(const exchange_t *exchange)
{
    static const char *const schemes[] = {"token", "bearer"};
    const char *text = exchange->authorization;

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

static void identify(exchange_t *exchange)
{
    auth_t *auth = exchange->http->auth;
    const char *token = header_token(exchange);

    if (!token)
        token = exchange_argument(exchange, "token");
    if (token && *token) {
        exchange->scopes =
            auth_check(auth, token, strlen(token), exchange->who);
        exchange->is_by_token = exchange->scopes && !auth_is_open(auth);
        return;
    }
    cleanup_free char *name = access_cookie_name(exchange);
    cleanup_free char *cookie = access_cookie(exchange, name);
    if (cookie)
        exchange->scopes = auth_check_cookie(auth, cookie, strlen(cookie),
                                             clock_wall_us(), exchange->who);
    if (!exchange->scopes)
        exchange->scopes = auth_check(auth, "", 0, exchange->who);
}

const char *access_who(const exchange_t *exchange,
                       char ret_who[ACCESS_WHO_SIZE])
{
    if (exchange->scopes)
        snprintf(ret_who, ACCESS_WHO_SIZE, "token=%s", exchange->who);
    else
        snprintf(ret_who, ACCESS_WHO_SIZE, "%s", AUDIT_UNKNOWN);
    return ret_who;
}

/* --- Origins --- */

static bool has_origins(const options_http_t *options)
{
    return options->allow_origin && *options->allow_origin;
}

/* The configuration permits pages of this origin. */
static bool is_permitted(const exchange_t *exchange)
{
    char *const *at = exchange->http->options->http.allow_origin;

    for (; exchange->origin && at && *at; at++)
        if (strcmp(*at, "*") == 0 || strcasecmp(*at, exchange->origin) == 0)
            return true;
    return false;
}

static bool is_own(const exchange_t *exchange)
{
    const char *authority = strstr(exchange->origin, "://");

    return authority && exchange->host
           && strcasecmp(authority + 3, exchange->host) == 0;
}

/* Names that lead to this machine alone. A name of somebody else's that was
 * made to point here (DNS rebinding) has an origin that equals the host, so
 * where no token is asked for the host itself is looked at. */
static bool is_local_host(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (strncasecmp(host, names[i], size) == 0
            && (!host[size] || host[size] == ':'))
            return true;
    }
    return false;
}

static bool check_origin(exchange_t *exchange, bool is_websocket)
{
    const options_http_t *options = &exchange->http->options->http;

    if (auth_is_open(exchange->http->auth) && exchange->host
        && is_local_host(options->ip) && !is_local_host(exchange->host)
        && !has_origins(options)) {
        access_note_refusal(exchange, "host");
        exchange_fail(exchange, 403,
                      "The host %.100s is not this machine; http/allow_origin "
                      "says whose pages may use a gateway without token",
                      exchange->host);
        return false;
    }
    if (!exchange->origin || exchange->is_by_token || is_own(exchange)
        || is_permitted(exchange))
        return true;
    access_note_refusal(exchange, "origin");
    /* The codes are Jupyter Server's. */
    exchange_fail(exchange, is_websocket ? 403 : 404,
                  "Pages of %.200s may not use this gateway; "
                  "http/allow_origin says whose may",
                  exchange->origin);
    return false;
}

static bool check_xsrf(exchange_t *exchange)
{
    const unsigned harmless = METHOD_GET | METHOD_HEAD | METHOD_OPTIONS;
    const char *shown = exchange->xsrf;
    cleanup_free char *cookie = access_cookie(exchange, XSRF_COOKIE);

    if (exchange->method & harmless || exchange->is_by_token
        || auth_is_open(exchange->http->auth))
        return true;
    if (!shown)
        shown = exchange_argument(exchange, XSRF_COOKIE);
    if (shown && cookie && *cookie && auth_equals(shown, cookie))
        return true;
    access_note_refusal(exchange, "xsrf");
    if (!shown || !cookie || !*cookie) {
        exchange_fail(exchange, 403, "'_xsrf' argument missing from %s",
                      method_text(exchange->method));
        return false;
    }
    exchange_fail(exchange, 403, "XSRF cookie does not match %s argument",
                  method_text(exchange->method));
    return false;
}

/* --- All of it --- */

static bool check_scope(exchange_t *exchange, unsigned scope)
{
    if (exchange->scopes & scope)
        return true;
    access_note_refusal(exchange, exchange->scopes ? "scope" : "token");
    if (!exchange->scopes) {
        exchange_fail(exchange, 401,
                      "A token is needed: `hearth gateway info` tells it, and "
                      "a request gives it as `Authorization: token ...`");
        return false;
    }
    json_auto_t *names = auth_scope_names(scope);
    const char *other = json_string_value(json_array_get(names, 1));
    exchange_fail(exchange, 403, "This token lacks the scope %s%s%s",
                  json_string_value(json_array_get(names, 0)),
                  other ? " or " : "", other ? other : "");
    return false;
}

bool access_check(exchange_t *exchange, unsigned scope, bool is_websocket)
{
    identify(exchange);
    if (scope && !exchange->scopes)
        return check_scope(exchange, scope);
    return check_origin(exchange, is_websocket)
           && (!scope
               || (check_scope(exchange, scope) && check_xsrf(exchange)));
}

/* What a browser must not do with an answer: run it, frame it, guess its
 * type, keep it. */
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

void access_shields(buffer_t *out)
{
    write_shields(false, false, out);
}

/* Out of the configuration as it stands, but in one line. */
static void write_configured(const char *name, const char *value, buffer_t *out)
{
    if (!value)
        return;
    buffer_format(out, "Access-Control-%s: ", name);
    for (; *value; value++)
        buffer_append(out, (unsigned char) *value < ' ' ? " " : value, 1);
    buffer_text(out, "\r\n");
}

void access_headers(const exchange_t *exchange, buffer_t *out)
{
    const options_http_t *options = &exchange->http->options->http;

    write_shields(
        exchange->is_page,
        exchange->head.size
            && strstr((const char *) exchange->head.data, "Cache-Control"),
        out);
    if (!has_origins(options))
        return;
    if (texts_have(options->allow_origin, "*")) {
        buffer_text(out, "Access-Control-Allow-Origin: *\r\n");
    } else {
        buffer_text(out, "Vary: Origin\r\n");
        if (!is_permitted(exchange))
            return;
        buffer_format(out, "Access-Control-Allow-Origin: %s\r\n",
                      exchange->origin);
        if (options->allow_credentials)
            buffer_text(out, "Access-Control-Allow-Credentials: true\r\n");
    }
    write_configured(
        "Expose-Headers",
        options->expose_headers ? options->expose_headers : "Location", out);
    write_configured("Allow-Methods", options->allow_methods, out);
    write_configured("Allow-Headers", options->allow_headers, out);
}
