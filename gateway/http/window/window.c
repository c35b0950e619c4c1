/* The window: a page of the gateway's own where people watch sessions. The
 * files hold no data, so every client may have them. Their requests to the
 * gateway need a token, which the page gets for a code
 * (gateway/http/core/window_access.h). */
#include "gateway/http/window/window.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/http/api/route.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/core/authorize_audit.h"
#include "gateway/http/core/model.h"
#include "gateway/http/core/window_access.h"
#include "gateway/http/window/feed_socket.h"

#include <sodium.h>

#include <errno.h>
#include <string.h>

/* Nothing but the page's own files, no text that becomes markup, and in no
 * frame (CSP level 3, Trusted Types). Its frames are the quiet ones: every
 * other answer of the gateway forbids that scripts run in it. */
#define POLICY                                                                 \
    "default-src 'none'; script-src 'self'; style-src 'self'; "                \
    "img-src 'self' blob: data:; connect-src 'self'; frame-src 'self'; "       \
    "base-uri 'none'; "                                                        \
    "form-action 'none'; frame-ancestors 'none'; "                             \
    "require-trusted-types-for 'script'; trusted-types 'none'"

/* The policy of the quiet frame: no site, no script but its own, no request. */
#define FRAME_POLICY                                                           \
    "sandbox allow-scripts; default-src 'none'; script-src 'sha256-%s'; "      \
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "              \
    "form-action 'none'; frame-ancestors 'self'"
#define FRAME_NAME "frame"

static const struct {
    const char *name;
    const char *type;
    const char *bytes;
    const size_t *size;
} files[] = {
    {"window.css", "text/css; charset=utf-8", window_css, &window_css_size},
    {"window.js", "text/javascript; charset=utf-8", window_js, &window_js_size},
    {"access.js", "text/javascript; charset=utf-8", window_access_js,
     &window_access_js_size},
    {"acts.js", "text/javascript; charset=utf-8", window_acts_js,
     &window_acts_js_size},
    {"feed.js", "text/javascript; charset=utf-8", window_feed_js,
     &window_feed_js_size},
    {"notebook.js", "text/javascript; charset=utf-8", window_notebook_js,
     &window_notebook_js_size},
    {"outputs.js", "text/javascript; charset=utf-8", window_outputs_js,
     &window_outputs_js_size},
    {"quiet.js", "text/javascript; charset=utf-8", window_quiet_js,
     &window_quiet_js_size},
    {"sessions.js", "text/javascript; charset=utf-8", window_sessions_js,
     &window_sessions_js_size},
    {"text.js", "text/javascript; charset=utf-8", window_text_js,
     &window_text_js_size},
};

static void answer_page(exchange_t *exchange, const char *bytes, size_t size)
{
    exchange->response.is_page = true;
    exchange_header(exchange, "Content-Security-Policy", POLICY);
    exchange_header(exchange, "Cross-Origin-Opener-Policy", "same-origin");
    exchange_bytes(exchange, 200, "text/html; charset=utf-8", bytes, size);
}

/* Returns true for a browser, which says that it wants HTML. A program says
 * that it takes anything. */
static bool wants_page(const exchange_t *exchange)
{
    const char *accept = exchange->request.headers[HEADER_ACCEPT];

    return accept && strstr(accept, "text/html");
}

static void welcome(exchange_t *exchange)
{
    if (wants_page(exchange))
        answer_page(exchange, window_welcome_html, window_welcome_html_size);
    else if (authorize_check(exchange, SCOPE_OBSERVE, false))
        exchange_fail(exchange, 404,
                      "GET / is for browsers, which send Accept: text/html");
}

static void show_page(exchange_t *exchange)
{
    answer_page(exchange, window_html, window_html_size);
}

/* Sends the document that shows a session's HTML, which the page sends to it.
 */
static void show_frame(exchange_t *exchange)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    char text[sodium_base64_ENCODED_LEN(sizeof hash,
                                        sodium_base64_VARIANT_ORIGINAL)];
    cleanup_buffer buffer_t out = {0};

    crypto_hash_sha256(hash, (const uint8_t *) window_frame_js,
                       window_frame_js_size);
    sodium_bin2base64(text, sizeof text, hash, sizeof hash,
                      sodium_base64_VARIANT_ORIGINAL);
    buffer_text(&out, "<!DOCTYPE html><html lang=\"en\"><head>"
                      "<meta charset=\"utf-8\"><title>Output</title><style>");
    buffer_append(&out, window_frame_css, window_frame_css_size);
    buffer_text(&out, "</style></head><body><script>");
    buffer_append(&out, window_frame_js, window_frame_js_size);
    buffer_text(&out, "</script></body></html>");
    exchange->response.is_page = true;
    exchange_header(exchange, "Content-Security-Policy", FRAME_POLICY, text);
    exchange_bytes(exchange, 200, "text/html; charset=utf-8", out.data,
                   out.size);
}

static void show_file(exchange_t *exchange)
{
    const char *name = exchange->request.parameters[0];

    if (strcmp(name, FRAME_NAME) == 0) {
        show_frame(exchange);
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].name, name) != 0)
            continue;
        exchange_bytes(exchange, 200, files[i].type, files[i].bytes,
                       *files[i].size);
        return;
    }
    exchange_fail(exchange, 404, "The window has no file %.100s", name);
}

static void refuse_code(exchange_t *exchange, int reason)
{
    static const char next[] = "`hearth window` makes another one";

    authorize_note_refusal(exchange, "code");
    if (reason == -ETIME)
        exchange_fail(exchange, 403,
                      "The code is older than %d seconds, or was revoked; %s",
                      WINDOW_CODE_SECONDS, next);
    else if (reason == -EALREADY)
        exchange_fail(exchange, 403, "The code was used before; %s", next);
    else if (reason == -EBUSY)
        exchange_fail(exchange, 503,
                      "Too many codes were used in the last "
                      "minute; try again in a minute");
    else
        exchange_fail(exchange, 403, "This gateway did not make this code; %s",
                      next);
}

static void make_token(exchange_t *exchange)
{
    char expires[CLOCK_ISO_SIZE], who[TOKEN_ID_SIZE] = "";
    cleanup_free char *token = NULL;
    json_auto_t *body = NULL;
    int64_t expires_us = 0, now_us = clock_wall_us();
    unsigned scopes = 0;
    int r;

    if (!exchange_read_object(exchange, &body))
        return;
    window_access_revoke(exchange->http->window,
                         tokens_windows_from(exchange->http->tokens));
    r = window_access_trade(exchange->http->window, model_text(body, "code"),
                            now_us, &token, &scopes, &expires_us);
    if (r < 0) {
        refuse_code(exchange, r);
        return;
    }
    (void) window_access_check(exchange->http->window, token, now_us, who);
    authorize_note_use(exchange, "window", who, "");
    clock_iso(expires_us, expires);
    exchange_json(exchange, 201,
                  json_pack("{s:s,s:o,s:s}", "token", token, "scopes",
                            token_scopes_names(scopes), "expires_at", expires));
    sodium_memzero(token, strlen(token));
}

const route_t window_routes[] = {
    {METHOD_GET, "/", SCOPE_NONE, welcome},
    {METHOD_GET, "/hearth/window", SCOPE_NONE, show_page},
    {METHOD_GET, "/hearth/window/{}", SCOPE_NONE, show_file},
    {METHOD_POST, "/hearth/window", SCOPE_NONE, make_token},
    {METHOD_GET, FEED_PATH, SCOPE_OBSERVE, exchange_refuse_plain},
    {0},
};
