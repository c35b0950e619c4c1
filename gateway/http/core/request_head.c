/* See request_head.h. libwebsockets has parsed the lines; what they say is
 * copied, as its own copy goes when the next request comes. */
#include "gateway/http/core/request_head.h"

#include "base/clock.h"

#include <string.h>

#define PARAMETER_SIZE 4096 /* bytes of one name and value of a query */

char *head_text(struct lws *wsi, enum lws_token_indexes token)
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

static void read_query(exchange_t *exchange, struct lws *wsi)
{
    char text[PARAMETER_SIZE];

    for (int i = 0; lws_hdr_copy_fragment(wsi, text, sizeof text,
                                          WSI_TOKEN_HTTP_URI_ARGS, i)
                    >= 0;
         i++) {
        char *equals = strchr(text, '=');
        if (equals)
            *equals++ = '\0';
        /* What is no UTF-8 makes no string, and is left out. */
        json_object_set_new(exchange->query, text,
                            json_string(equals ? equals : ""));
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

bool head_is_text(const char *text)
{
    json_auto_t *checked = json_string(text);

    for (; *text; text++)
        if ((unsigned char) *text < ' ' || *text == 0x7f)
            return false;
    return checked != NULL;
}

/* The path below the base URL, without a slash at its end. */
static char *read_path(const http_t *http, const char *uri, size_t size)
{
    size_t base = strlen(http->base);

    if (memchr(uri, '\0', size))
        return mem_text("\x7f"); /* head_is_text will refuse it */
    if (size < base || memcmp(uri, http->base, base) != 0
        || (size > base && uri[base] != '/'))
        return mem_text("");
    while (size > base + 1 && uri[size - 1] == '/')
        size--;
    return size == base ? mem_text("/") : mem_copy(uri + base, size - base);
}

bool head_is_http(struct lws *wsi)
{
    cleanup_free char *version = head_text(wsi, WSI_TOKEN_HTTP);

    return version && strlen(version) == strlen("HTTP/1.1")
           && memcmp(version, "HTTP/1.", strlen("HTTP/1.")) == 0
           && version[7] >= '0' && version[7] <= '9';
}

exchange_t *head_read(http_t *http, struct lws *wsi)
{
    exchange_t *exchange = exchange_new(http, wsi);
    char *uri = NULL;
    int size = 0;

    exchange->begun_us = clock_monotonic_us();
    http->active_us = clock_wall_us();
    exchange->method = read_method(wsi, &uri, &size);
    exchange->path = read_path(http, uri ? uri : "", uri ? (size_t) size : 0);
    exchange->host = head_text(wsi, WSI_TOKEN_HOST);
    exchange->origin = head_text(wsi, WSI_TOKEN_ORIGIN);
    exchange->authorization = head_text(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    exchange->cookie = head_text(wsi, WSI_TOKEN_HTTP_COOKIE);
    exchange->content_type = head_text(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE);
    exchange->user_agent = head_text(wsi, WSI_TOKEN_HTTP_USER_AGENT);
    exchange->protocols = head_text(wsi, WSI_TOKEN_PROTOCOL);
    exchange->asked_headers = head_text(wsi, WSI_TOKEN_HTTP_AC_REQUEST_HEADERS);
    exchange->accept = head_text(wsi, WSI_TOKEN_HTTP_ACCEPT);
    exchange->last_event = custom_text(wsi, "last-event-id:");
    exchange->key = custom_text(wsi, "idempotency-key:");
    exchange->range = head_text(wsi, WSI_TOKEN_HTTP_RANGE);
    exchange->if_range = head_text(wsi, WSI_TOKEN_HTTP_IF_RANGE);
    exchange->xsrf = custom_text(wsi, "x-xsrftoken:");
    if (!exchange->xsrf)
        exchange->xsrf = custom_text(wsi, "x-csrftoken:");
    read_query(exchange, wsi);
    return exchange;
}

int64_t head_body_size(struct lws *wsi)
{
    cleanup_free char *text = head_text(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH);

    if (!text)
        return -1;
    if (strlen(text) > 18 || text[strspn(text, "0123456789")])
        return -2;
    return strtoll(text, NULL, 10);
}
