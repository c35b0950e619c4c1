/* One client's connection, as libwebsockets tells of it: a request's headers
 * and body come in, its answer goes out, or it becomes a WebSocket. Limits
 * are looked at before anything is believed. HTTP/1.1 alone: HTTP/2 is not
 * offered over TLS, and an offer to upgrade to it is passed over. */
#include "gateway/http/internal.h"

#include "base/clock.h"
#include "gateway/http/channels.h"
#include "gateway/http/metrics.h"
#include "gateway/http/oversize.h"
#include "gateway/http/routes.h"
#include "gateway/http/server.h"
#include "protocol/websocket.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define CHUNK          (64u << 10) /* bytes of a file that are read at once */
#define WRITE_SECONDS  60 /* a client that takes nothing for so long is left */
#define BODY_RATE      (16u << 10) /* bytes a second that a body must have */
#define PARAMETER_SIZE 4096        /* bytes of one name and value of a query */
#define BODY_TOO_LONG                                                          \
    "The body is longer than it may be (http/body_max, and 64 KiB where no "   \
    "token is asked for); a file of any size can be written in chunks"

/* --- What came --- */

static char *header_text(struct lws *wsi, enum lws_token_indexes token)
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

/* UTF-8 without control characters: everything behind may rely on it. */
static bool is_text(const char *text)
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
        return mem_text("\x7f"); /* is_text will refuse it */
    if (size < base || memcmp(uri, http->base, base) != 0
        || (size > base && uri[base] != '/'))
        return mem_text("");
    while (size > base + 1 && uri[size - 1] == '/')
        size--;
    return size == base ? mem_text("/") : mem_copy(uri + base, size - base);
}

static exchange_t *read_request(http_t *http, struct lws *wsi)
{
    exchange_t *exchange = exchange_new(http, wsi);
    char *uri = NULL;
    int size = 0;

    exchange->begun_us = clock_wall_us();
    http->active_us = exchange->begun_us;
    exchange->method = read_method(wsi, &uri, &size);
    exchange->path = read_path(http, uri ? uri : "", uri ? (size_t) size : 0);
    exchange->host = header_text(wsi, WSI_TOKEN_HOST);
    exchange->origin = header_text(wsi, WSI_TOKEN_ORIGIN);
    exchange->authorization = header_text(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    exchange->cookie = header_text(wsi, WSI_TOKEN_HTTP_COOKIE);
    exchange->content_type = header_text(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE);
    exchange->user_agent = header_text(wsi, WSI_TOKEN_HTTP_USER_AGENT);
    exchange->protocols = header_text(wsi, WSI_TOKEN_PROTOCOL);
    exchange->asked_headers =
        header_text(wsi, WSI_TOKEN_HTTP_AC_REQUEST_HEADERS);
    exchange->accept = header_text(wsi, WSI_TOKEN_HTTP_ACCEPT);
    exchange->last_event = custom_text(wsi, "last-event-id:");
    exchange->key = custom_text(wsi, "idempotency-key:");
    exchange->range = header_text(wsi, WSI_TOKEN_HTTP_RANGE);
    exchange->if_range = header_text(wsi, WSI_TOKEN_HTTP_IF_RANGE);
    exchange->xsrf = custom_text(wsi, "x-xsrftoken:");
    if (!exchange->xsrf)
        exchange->xsrf = custom_text(wsi, "x-csrftoken:");
    read_query(exchange, wsi);
    return exchange;
}

/* --- Answering --- */

void connection_wake(exchange_t *exchange)
{
    if (!exchange->wsi)
        return;
    lws_rx_flow_control(exchange->wsi, 1);
    lws_callback_on_writable(exchange->wsi);
}

/* Until the next wake: what comes behind a request that is being answered, and
 * the end of a client that has gone, would wake this thread all the time.
 * libwebsockets writes nothing either meanwhile. */
static void rest(struct lws *wsi)
{
    lws_rx_flow_control(wsi, 0);
}

static uint64_t answer_size(const exchange_t *exchange)
{
    if (exchange->has_source_size)
        return exchange->source_size;
    return exchange->file >= 0 ? exchange->file_size : exchange->answer.size;
}

/* Status line, header lines, empty line. */
static void write_head(const exchange_t *exchange, buffer_t *out)
{
    char date[64];
    time_t now = (time_t) (clock_wall_us() / 1000000);
    struct tm calendar;

    gmtime_r(&now, &calendar);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &calendar);
    buffer_format(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", exchange->status,
                  status_text(exchange->status), date);
    access_headers(exchange, out);
    buffer_append(out, exchange->head.data, exchange->head.size);
    if (exchange->type)
        buffer_format(out, "Content-Type: %s\r\n", exchange->type);
    if (exchange->source && !exchange->has_source_size)
        buffer_text(out, "Transfer-Encoding: chunked\r\n");
    else if (exchange->status != 204 && exchange->status != 304)
        buffer_format(out, "Content-Length: %llu\r\n",
                      (unsigned long long) answer_size(exchange));
    buffer_format(out, "Connection: %s\r\n\r\n",
                  exchange->must_close ? "close" : "keep-alive");
}

static bool has_body(const exchange_t *exchange)
{
    return exchange->method != METHOD_HEAD && exchange->status != 204
           && exchange->status != 304;
}

/* What a source has, as a chunk; behind the last one the end's mark. */
static int next_chunk(exchange_t *exchange)
{
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;
    int r = exchange->source(exchange->source_state, &piece);

    if (r < 0)
        return r;
    buffer_clear(&exchange->out);
    exchange->sent = 0;
    exchange->is_drained = r == 0;
    if (exchange->has_source_size) {
        buffer_append(&exchange->out, piece.data, piece.size);
        return 0;
    }
    if (piece.size) {
        buffer_format(&exchange->out, "%zx\r\n", piece.size);
        buffer_append(&exchange->out, piece.data, piece.size);
        buffer_text(&exchange->out, "\r\n");
    }
    if (r == 0)
        buffer_text(&exchange->out, "0\r\n\r\n");
    return 0;
}

/* The next piece to go out; 0: the last one has gone, or none is there yet;
 * negative: the file failed, and with it the answer. */
static ssize_t next_piece(exchange_t *exchange, const uint8_t **ret_piece)
{
    buffer_t *out = &exchange->out;

    if (!exchange->is_begun) {
        exchange->is_begun = true;
        write_head(exchange, out);
        if (has_body(exchange) && exchange->file < 0)
            buffer_append(out, exchange->answer.data, exchange->answer.size);
    } else if (exchange->sent == out->size && exchange->file >= 0
               && has_body(exchange) && exchange->file_size > 0) {
        size_t want =
            exchange->file_size < CHUNK ? (size_t) exchange->file_size : CHUNK;
        buffer_clear(out);
        exchange->sent = 0;
        ssize_t got = read(exchange->file, buffer_reserve(out, want), want);
        if (got <= 0)
            return -EIO;
        out->size = (size_t) got;
        exchange->file_size -= (uint64_t) got;
    } else if (exchange->sent == out->size && exchange->source
               && has_body(exchange) && !exchange->is_drained) {
        if (next_chunk(exchange) < 0)
            return -EIO;
    }
    size_t left = out->size - exchange->sent;
    *ret_piece = out->data + exchange->sent;
    return (ssize_t) (left < CHUNK ? left : CHUNK);
}

/* A connection whose request is answered: ready for the next one. Negative:
 * it is to be closed. */
static int finish(struct lws *wsi, connection_t *connection)
{
    exchange_t *exchange = connection->exchange;
    bool must_close = exchange->must_close;

    metrics_count_answer(exchange);
    exchange_destroy(&connection->exchange);
    if (must_close)
        return -1;
    oversize_rest(connection);
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* There is more to come, but not now. */
static bool is_waiting(const exchange_t *exchange)
{
    return exchange->source && has_body(exchange) && !exchange->is_drained;
}

static int on_writable(struct lws *wsi, connection_t *connection)
{
    exchange_t *exchange = connection->exchange;
    const uint8_t *piece;
    ssize_t size;

    if (!exchange || !exchange->status)
        return 0;
    do {
        if ((size = next_piece(exchange, &piece)) < 0)
            return -1;
        if (size == 0 && is_waiting(exchange)) {
            lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
            rest(wsi);
            return 0;
        }
        if (size == 0)
            return finish(wsi, connection);
        /* HTTP/1 puts nothing before what is written: no room is needed. */
        uint8_t *bytes = NULL;
        memcpy(&bytes, &piece, sizeof bytes);
        if (lws_write(wsi, bytes, (size_t) size, LWS_WRITE_HTTP) < size)
            return -1;
        exchange->sent += (uint64_t) size;
    } while (!lws_send_pipe_choked(wsi));
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, WRITE_SECONDS);
    lws_callback_on_writable(wsi);
    return 0;
}

/* --- Requests --- */

/* -1: there is none; -2: it is none that one can believe. */
static int64_t content_length(struct lws *wsi)
{
    cleanup_free char *text = header_text(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH);

    if (!text)
        return -1;
    if (strlen(text) > 18 || text[strspn(text, "0123456789")])
        return -2;
    return strtoll(text, NULL, 10);
}

static void refuse(exchange_t *exchange, int status, const char *text)
{
    exchange->must_close = true;
    exchange_fail(exchange, status, "%s", text);
}

static void dispatch(exchange_t *exchange)
{
    exchange->is_dispatched = true;
    /* From here on it is up to us how long it takes. */
    lws_set_timeout(exchange->wsi, NO_PENDING_TIMEOUT, 0);
    if (!exchange->status)
        routes_dispatch(exchange);
    if (!exchange->status)
        rest(exchange->wsi);
}

/* How the body comes, and whether it may. -1: it has no length. */
static int64_t check_body(http_t *http, struct lws *wsi, exchange_t *exchange)
{
    int64_t size = content_length(wsi);
    bool has_body =
        exchange->method & (METHOD_POST | METHOD_PUT | METHOD_PATCH);
    cleanup_free char *coding =
        header_text(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING);

    /* libwebsockets would wait for the body of a POST that has none. */
    if (size == -1 && has_body)
        exchange->must_close = true;
    if (coding && size != -1)
        refuse(exchange, 400,
               "Content-Length and Transfer-Encoding exclude each other");
    else if (coding && strcasecmp(coding, "chunked") != 0)
        refuse(exchange, 501, "The only Transfer-Encoding here is chunked");
    else if (coding && !has_body)
        refuse(exchange, 400, "Only POST, PUT and PATCH have a body");
    else if (size == -2)
        refuse(exchange, 400, "The Content-Length is no number");
    else if (size > 0 && (uint64_t) size > http->options->http.body_max)
        refuse(exchange, 413, BODY_TOO_LONG);
    exchange->is_chunked = coding && !exchange->status;
    return size;
}

/* What somebody sends who may not is not kept in memory until it is all there.
 * False: it was refused. */
static bool may_send(exchange_t *exchange, int64_t size)
{
    if (!exchange->is_chunked && size <= (int64_t) ROUTES_BODY_SMALL)
        return true;
    if (!routes_permit(exchange))
        exchange->must_close = true;
    else if (size > 0 && (uint64_t) size > exchange->body_max)
        refuse(exchange, 413, BODY_TOO_LONG);
    return !exchange->status;
}

static bool waits_for_word(struct lws *wsi)
{
    cleanup_free char *expected = header_text(wsi, WSI_TOKEN_HTTP_EXPECT);

    return expected && strcasecmp(expected, "100-continue") == 0;
}

/* Clients with a long body ask first, and wait a second for this. */
static int say_continue(struct lws *wsi)
{
    char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

    return lws_write(wsi, (unsigned char *) text, sizeof text - 1,
                     LWS_WRITE_HTTP_HEADERS)
                   < 0
               ? -1
               : 0;
}

static int decline(connection_t *connection)
{
    connection->is_declined = false;
    connection->exchange->is_dispatched = true;
    lws_set_timeout(connection->exchange->wsi, NO_PENDING_TIMEOUT, 0);
    viewer_decline(connection->exchange);
    return 0;
}

static int on_request(http_t *http, struct lws *wsi, connection_t *connection)
{
    int64_t size = -1;

    if (connection->is_declined)
        return decline(connection);
    exchange_destroy(&connection->exchange);
    exchange_t *exchange = connection->exchange = read_request(http, wsi);
    exchange->body_max = http->options->http.body_max;
    if (!exchange->method)
        refuse(exchange, 405, "There is no such method here");
    else if (!is_text(exchange->path))
        refuse(exchange, 400, "The path is no UTF-8 text");
    else
        size = check_body(http, wsi, exchange);
    if (exchange->status || (size <= 0 && !exchange->is_chunked)
        || !may_send(exchange, size))
        dispatch(exchange);
    else if (waits_for_word(wsi))
        return say_continue(wsi);
    return 0;
}

static void take_chunks(exchange_t *exchange, const void *bytes, size_t size)
{
    int r = chunks_feed(&exchange->chunks, bytes, size, exchange->body_max,
                        &exchange->body);

    if (r == -EMSGSIZE)
        refuse(exchange, 413, BODY_TOO_LONG);
    else if (r < 0)
        refuse(exchange, 400, "The chunks of the body are none");
    if (r != 0)
        dispatch(exchange);
}

static int on_body(http_t *http, connection_t *connection, const void *bytes,
                   size_t size)
{
    exchange_t *exchange = connection->exchange;
    int64_t spent_us, allowed_us;

    if (!exchange || exchange->is_dispatched)
        return 0;
    spent_us = clock_wall_us() - exchange->begun_us;
    allowed_us = http->options->http.request_timeout_ms * 1000
                 + (int64_t) (exchange->body.size / BODY_RATE) * 1000000;
    if (spent_us > allowed_us)
        return -1;
    if (exchange->is_chunked) {
        take_chunks(exchange, bytes, size);
        return 0;
    }
    if (exchange->body.size + size > exchange->body_max)
        return -1;
    if (size)
        buffer_append(&exchange->body, bytes, size);
    return 0;
}

static int on_body_end(connection_t *connection)
{
    exchange_t *exchange = connection->exchange;

    if (!exchange || exchange->is_dispatched)
        return 0;
    /* libwebsockets takes a body without a length for one of 100 MiB. */
    if (exchange->is_chunked)
        refuse(exchange, 413, "A body in chunks has 100 MiB at most");
    dispatch(exchange);
    return 0;
}

/* --- Upgrades --- */

/* The whole refusal at once: libwebsockets ends the request when this
 * returns. */
static int refuse_upgrade(struct lws *wsi, connection_t *connection)
{
    exchange_t *exchange = connection->exchange;

    exchange->must_close = true;
    write_head(exchange, &exchange->out);
    buffer_append(&exchange->out, exchange->answer.data, exchange->answer.size);
    if (lws_write(wsi, exchange->out.data, exchange->out.size,
                  LWS_WRITE_HTTP_HEADERS)
        < 0)
        return -1;
    metrics_count_answer(exchange);
    exchange_destroy(&connection->exchange);
    return -1;
}

/* `upgrade` lies in libwebsockets' table of headers. */
static int on_upgrade(http_t *http, struct lws *wsi, connection_t *connection,
                      char *upgrade)
{
    if (strcasecmp(upgrade, "websocket") != 0) {
        /* HTTP/2: a name that libwebsockets does not know leaves the request
         * what it is, as RFC 9110 (7.8) wants of a server that does not. */
        upgrade[0] = '-';
        return 0;
    }
    exchange_destroy(&connection->exchange);
    exchange_t *exchange = connection->exchange = read_request(http, wsi);
    if (is_text(exchange->path))
        connection->viewer = routes_upgrade(exchange);
    else
        refuse(exchange, 400, "The path is no UTF-8 text");
    if (!connection->viewer && exchange->status)
        return refuse_upgrade(wsi, connection);
    if (!connection->viewer) {
        /* Why there is none has to be asked for: it is answered as a request
         * that wants no upgrade. */
        connection->is_declined = true;
        upgrade[0] = '-';
        return 0;
    }
    exchange_destroy(&connection->exchange);
    return 0;
}

/* --- What libwebsockets says --- */

static connection_t *connection_of(struct lws *wsi)
{
    return server_is_own(wsi) ? NULL : lws_get_opaque_user_data(wsi);
}

static void forget(http_t *http, struct lws *wsi)
{
    connection_t *connection = connection_of(wsi);

    if (!connection)
        return;
    lws_set_opaque_user_data(wsi, NULL);
    exchange_destroy(&connection->exchange);
    viewer_destroy(&connection->viewer);
    if (connection->is_counted)
        http->connections--;
    oversize_forget(http, connection);
    free(connection);
}

static int on_http(http_t *http, struct lws *wsi,
                   enum lws_callback_reasons reason, void *in, size_t size)
{
    connection_t *connection = connection_of(wsi);

    if (!connection)
        return 0;
    switch ((int) reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return on_upgrade(http, wsi, connection, in);
    case LWS_CALLBACK_HTTP:
        return on_request(http, wsi, connection);
    case LWS_CALLBACK_HTTP_BODY:
        return on_body(http, connection, in, size);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return on_body_end(connection);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return on_writable(wsi, connection);
    case LWS_CALLBACK_CLOSED_HTTP:
        exchange_destroy(&connection->exchange);
        return 0;
    default:
        return viewer_callback(connection->viewer, wsi, reason, in, size);
    }
}

int connection_callback(struct lws *wsi, enum lws_callback_reasons reason,
                        void *user, void *in, size_t size)
{
    http_t *http = lws_context_user(lws_get_context(wsi));

    (void) user;
    switch ((int) reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
    case LWS_CALLBACK_HTTP:
    case LWS_CALLBACK_HTTP_BODY:
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    case LWS_CALLBACK_HTTP_WRITEABLE:
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_ESTABLISHED:
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_CLOSED:
        return on_http(http, wsi, reason, in, size);
    case LWS_CALLBACK_WSI_DESTROY:
        forget(http, wsi);
        return 0;
    case LWS_CALLBACK_RAW_RX_FILE:
        return server_on_descriptor(http, wsi);
    /* CONNECT would make a raw connection. */
    case LWS_CALLBACK_RAW_ADOPT:
    case LWS_CALLBACK_RAW_RX:
        return -1;
    default:
        return 0;
    }
}
