/* See request_head.h. libwebsockets has parsed the lines. They are copied,
 * because its own copy ends with the next request. */
#include "gateway/http/core/request_head.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "gateway/http/core/decimal.h"

#include <string.h>

#define PARAMETER_MAX 4095 /* bytes of one name and value of a query */
#define NAME_SHOWN    100  /* bytes of a name in a sentence */

char *request_head_text(struct lws *wsi, enum lws_token_indexes token)
{
    int size = lws_hdr_total_length(wsi, token);
    cleanup_free char *text = NULL;

    if (size <= 0)
        return NULL;
    text = mem_new((size_t) size + 1);
    if (lws_hdr_copy(wsi, text, size + 1, token) < 0)
        return NULL;
    return take_ptr(text);
}

static char *custom_text(struct lws *wsi, const char *name)
{
    int size = lws_hdr_custom_length(wsi, name, (int) strlen(name));
    cleanup_free char *text = NULL;

    if (size <= 0)
        return NULL;
    text = mem_new((size_t) size + 1);
    if (lws_hdr_custom_copy(wsi, text, size + 1, name, (int) strlen(name)) < 0)
        return NULL;
    return take_ptr(text);
}

/* Notes what is wrong with a parameter of the query, unless one before it is
 * wrong. A name that is no text is not shown. */
static void note_flaw(http_request_t *request, const char *name,
                      const char *what)
{
    size_t size = strlen(name);

    if (size > NAME_SHOWN)
        size = utf8_cut(name, NAME_SHOWN);
    if (request->query_flaw)
        return;
    request->query_flaw =
        request_head_is_text(name)
            ? mem_format("The parameter `%.*s` of the query %s", (int) size,
                         name, what)
            : mem_format("A parameter of the query, whose name is not UTF-8 "
                         "text, %s",
                         what);
}

/* Reads "name=value", which is decoded and `size` bytes. libwebsockets closes a
 * connection for a NUL in it. */
static void read_parameter(http_request_t *request, char *text, size_t size)
{
    char *equals = strchr(text, '=');

    if (equals)
        *equals++ = '\0';
    if (size > PARAMETER_MAX)
        note_flaw(request, text, "is longer than 4095 bytes");
    else if (json_object_set_new(request->query, text,
                                 json_string(equals ? equals : ""))
             < 0)
        note_flaw(request, text,
                  "is not UTF-8 text; each %XX must be a byte of UTF-8");
}

static void read_query(http_request_t *request, struct lws *wsi)
{
    const enum lws_token_indexes token = WSI_TOKEN_HTTP_URI_ARGS;

    for (int i = 0;; i++) {
        int size = lws_hdr_fragment_length(wsi, token, i);
        cleanup_free char *text = mem_new((size_t) size + 1);

        if (lws_hdr_copy_fragment(wsi, text, size + 1, token, i) < 0)
            return;
        read_parameter(request, text, (size_t) size);
    }
}

static unsigned read_method(struct lws *wsi, char **ret_uri, int *ret_size)
{
    static const unsigned methods[] = {
        [LWSHUMETH_GET] = METHOD_GET,
        [LWSHUMETH_POST] = METHOD_POST,
        [LWSHUMETH_OPTIONS] = METHOD_OPTIONS,
        [LWSHUMETH_PUT] = METHOD_PUT,
        [LWSHUMETH_PATCH] = METHOD_PATCH,
        [LWSHUMETH_DELETE] = METHOD_DELETE,
        [LWSHUMETH_HEAD] = METHOD_HEAD,
    };
    int method = lws_http_get_uri_and_method(wsi, ret_uri, ret_size);

    if (method < 0 || (size_t) method >= sizeof methods / sizeof *methods)
        return 0;
    return methods[method];
}

bool request_head_is_text(const char *text)
{
    json_auto_t *checked = json_string(text);

    for (; *text; text++)
        if ((unsigned char) *text < ' ' || *text == 0x7f)
            return false;
    return checked != NULL;
}

/* Returns the path below the base URL, without a slash at its end. */
static char *read_path(const http_t *http, const char *uri, size_t size)
{
    size_t base = strlen(http->base);

    if (memchr(uri, '\0', size))
        return mem_text("\x7f"); /* request_head_is_text will refuse it */
    if (size < base || memcmp(uri, http->base, base) != 0
        || (size > base && uri[base] != '/'))
        return mem_text("");
    while (size > base + 1 && uri[size - 1] == '/')
        size--;
    return size == base ? mem_text("/") : mem_copy(uri + base, size - base);
}

bool request_head_is_http(struct lws *wsi)
{
    cleanup_free char *version = request_head_text(wsi, WSI_TOKEN_HTTP);

    return version && strlen(version) == strlen("HTTP/1.1")
           && memcmp(version, "HTTP/1.", strlen("HTTP/1.")) == 0
           && version[7] >= '0' && version[7] <= '9';
}

bool request_head_is_http_1_0(struct lws *wsi)
{
    cleanup_free char *version = request_head_text(wsi, WSI_TOKEN_HTTP);

    return version && strcmp(version, "HTTP/1.0") == 0;
}

/* Returns the value of a header's line of that index, from 0 on; NULL if there
 * is none. libwebsockets leaves blanks at the beginning of later ones. */
static char *line_text(struct lws *wsi, enum lws_token_indexes token, int index)
{
    int size = lws_hdr_fragment_length(wsi, token, index);
    cleanup_free char *text = size > 0 ? mem_new((size_t) size + 1) : NULL;

    if (!text || lws_hdr_copy_fragment(wsi, text, size + 1, token, index) < 0)
        return NULL;
    return mem_text(text + strspn(text, " \t"));
}

/* Returns the header Authorization. A request has one; Emacs sends the same
 * line twice, which counts as one. NULL if lines differ: none of them counts.
 */
static char *read_authorization(struct lws *wsi)
{
    const enum lws_token_indexes token = WSI_TOKEN_HTTP_AUTHORIZATION;
    cleanup_free char *first = line_text(wsi, token, 0);
    int index = 1;

    while (first && lws_hdr_fragment_length(wsi, token, index) > 0) {
        cleanup_free char *other = line_text(wsi, token, index++);
        if (!other || strcmp(first, other) != 0)
            return NULL;
    }
    return take_ptr(first);
}

/* Finds a NUL. libwebsockets keeps it but does not count it, so the text would
 * end early. */
static bool has_nul(struct lws *wsi)
{
    static const enum lws_token_indexes tokens[] = {
        WSI_TOKEN_HOST,
        WSI_TOKEN_ORIGIN,
        WSI_TOKEN_CONNECTION,
        WSI_TOKEN_UPGRADE,
        WSI_TOKEN_PROTOCOL,
        WSI_TOKEN_KEY,
        WSI_TOKEN_VERSION,
        WSI_TOKEN_HTTP_ACCEPT,
        WSI_TOKEN_HTTP_AUTHORIZATION,
        WSI_TOKEN_HTTP_COOKIE,
        WSI_TOKEN_HTTP_CONTENT_LENGTH,
        WSI_TOKEN_HTTP_CONTENT_TYPE,
        WSI_TOKEN_HTTP_TRANSFER_ENCODING,
        WSI_TOKEN_HTTP_EXPECT,
        WSI_TOKEN_HTTP_RANGE,
        WSI_TOKEN_HTTP_IF_RANGE,
        WSI_TOKEN_HTTP_USER_AGENT,
    };
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        cleanup_free char *text = request_head_text(wsi, tokens[i]);
        if (text
            && strlen(text) < (size_t) lws_hdr_total_length(wsi, tokens[i]))
            return true;
    }
    return false;
}

/* Finds a space before a colon, which makes the line unknown to libwebsockets.
 * In a header that decides about the body's end or the client, a proxy may read
 * it differently. */
static bool has_blank_before_colon(struct lws *wsi)
{
    static const char *const names[] = {
        "host",   "content-length", "transfer-encoding", "authorization",
        "cookie", "connection",     "upgrade",           "expect",
    };
    char line[32];

    for (size_t i = 0; i < 2 * (sizeof names / sizeof *names); i++) {
        int size = snprintf(line, sizeof line, "%s%c:", names[i / 2],
                            i % 2 ? '\t' : ' ');
        if (lws_hdr_custom_length(wsi, line, size) >= 0)
            return true;
    }
    return false;
}

const char *request_head_flaw(struct lws *wsi)
{
    if (lws_hdr_fragment_length(wsi, WSI_TOKEN_HOST, 1) > 0)
        return "There are two Host lines";
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HOST) <= 0
        && !request_head_is_http_1_0(wsi))
        return "HTTP/1.1 requires a Host line";
    if (has_nul(wsi))
        return "A header line has a NUL";
    if (has_blank_before_colon(wsi))
        return "A header line has a space before its colon";
    return NULL;
}

static const struct {
    enum lws_token_indexes token;
    const char *line; /* NULL: libwebsockets has a token for it */
} headers[HEADER_COUNT] = {
#define X(name, token, line) [HEADER_##name] = {token, line},
    HEADERS(X)
#undef X
};

exchange_t *request_head_read(http_t *http, struct lws *wsi)
{
    exchange_t *exchange = exchange_new(http, wsi);
    char *uri = NULL;
    int size = 0;

    exchange->begun_us = clock_monotonic_us();
    http->clocks.active_us = clock_wall_us();
    exchange->request.method = read_method(wsi, &uri, &size);
    exchange->request.path =
        read_path(http, uri ? uri : "", uri ? (size_t) size : 0);
    for (size_t i = 0; i < HEADER_COUNT; i++)
        exchange->request.headers[i] =
            headers[i].line ? custom_text(wsi, headers[i].line)
                            : request_head_text(wsi, headers[i].token);
    free(exchange->request.headers[HEADER_AUTHORIZATION]);
    exchange->request.headers[HEADER_AUTHORIZATION] = read_authorization(wsi);
    if (!exchange->request.headers[HEADER_XSRF])
        exchange->request.headers[HEADER_XSRF] =
            custom_text(wsi, "x-csrftoken:");
    read_query(&exchange->request, wsi);
    return exchange;
}

int64_t request_head_body_size(struct lws *wsi)
{
    cleanup_free char *text =
        request_head_text(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH);

    uint64_t size;

    if (!text)
        return -1;
    return decimal_read(text, &size) ? (int64_t) size : -2;
}
