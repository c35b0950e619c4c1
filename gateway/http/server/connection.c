/* One client's connection, by libwebsockets' callbacks. A request's head
 * (gateway/http/core/request_head.h) and body are read, and its answer is
 * written (gateway/http/core/response_writer.h), or the connection becomes a
 * WebSocket. Limits are checked first. Only HTTP/1.1: HTTP/2 is not offered
 * over TLS, and an upgrade to it is refused. */
#include "gateway/http/server/connection.h"

#include "base/clock.h"
#include "gateway/http/core/metrics.h"
#include "gateway/http/core/request_head.h"
#include "gateway/http/core/response_writer.h"
#include "gateway/http/server/routes.h"
#include "gateway/http/terminals/terminal_socket.h"
#include "gateway/http/window/feed_socket.h"
#include "gateway/http/ws/websocket.h"
#include "protocol/limits.h"
#include "protocol/websocket.h"

#include <errno.h>
#include <string.h>

#define BODY_RATE                                                              \
    (16u << 10) /* bytes per second that a body needs at least                 \
                 */
#define BODY_TOO_LONG                                                          \
    "The body is longer than it may be (http/body_max, 128 MiB at most, and "  \
    "64 KiB where no token is asked for); a file of any size can be written "  \
    "in chunks: chunk 1, 2, ... and -1 for the last one"
#define BODY_MEMORY_MAX WIRE_FRAME_MAX /* bytes; a body is kept in memory */
/* Reports of the end of one body: one, and a few while its answer is written.
 */
#define BODY_ENDS_MAX 8

/* --- Requests --- */

static void refuse(exchange_t *exchange, int status, const char *text)
{
    exchange->response.must_close = true;
    exchange_fail(exchange, status, "%s", text);
}

/* Checks rules for the head (RFC 9112) that libwebsockets does not check.
 * Returns false if the request was refused. */
static bool check_head(exchange_t *exchange, struct lws *wsi)
{
    const char *flaw = request_head_flaw(wsi);

    if (!exchange->request.method)
        refuse(exchange, 405, "This method is unknown");
    else if (!request_head_is_http(wsi))
        refuse(exchange, 400,
               "The first line of a request is METHOD /PATH HTTP/1.1, without "
               "a line feed (%0a, %0d) in the path");
    else if (!request_head_is_text(exchange->request.path))
        refuse(exchange, 400, "The path is not UTF-8 text");
    else if (exchange->request.query_flaw)
        refuse(exchange, 400, exchange->request.query_flaw);
    else if (flaw)
        refuse(exchange, 400, flaw);
    return !exchange->response.status;
}

static exchange_t *read_head(http_t *http, struct lws *wsi)
{
    exchange_t *exchange = request_head_read(http, wsi);

    routes_find_door(exchange);
    return exchange;
}

static void dispatch(exchange_t *exchange)
{
    exchange->is_dispatched = true;
    /* From here on there is no timeout of libwebsockets for the answer. */
    lws_set_timeout(exchange->wsi, NO_PENDING_TIMEOUT, 0);
    if (!exchange->response.status)
        routes_dispatch(exchange);
    if (!exchange->response.status)
        exchange_rest(exchange);
}

static uint64_t body_max(const http_t *http)
{
    uint64_t bytes = http->options->http.body_max;

    return bytes < BODY_MEMORY_MAX ? bytes : BODY_MEMORY_MAX;
}

/* Returns the size of the body, -1 if it is not known; refuses a body that is
 * not permitted. */
static int64_t check_body(struct lws *wsi, exchange_t *exchange)
{
    int64_t size = request_head_body_size(wsi);
    bool has_body =
        exchange->request.method & (METHOD_POST | METHOD_PUT | METHOD_PATCH);
    cleanup_free char *coding =
        request_head_text(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING);

    /* libwebsockets would wait for the body of a POST without a length. */
    if (size == -1 && has_body)
        exchange->response.must_close = true;
    if (coding && size != -1)
        refuse(exchange, 400,
               "Content-Length and Transfer-Encoding exclude each other");
    else if (coding && strcasecmp(coding, "chunked") != 0)
        refuse(exchange, 501, "The only Transfer-Encoding here is chunked");
    else if (coding && !has_body)
        refuse(exchange, 400, "Only POST, PUT and PATCH have a body");
    else if (size == -2)
        refuse(exchange, 400, "The Content-Length is not a number");
    exchange->request.is_chunked = coding && !exchange->response.status;
    return size;
}

static void refuse_for_now(exchange_t *exchange, int patience)
{
    exchange_header(exchange, "Retry-After", "%d", patience);
    refuse(exchange, 503,
           "too much is being uploaded at this time; try again later");
}

/* Refuses a body before it is read if the client may not send it. Returns false
 * if it was refused. */
static bool may_send(exchange_t *exchange, int64_t size)
{
    if (!exchange->request.is_chunked && size <= (int64_t) ROUTES_BODY_SMALL)
        return true;
    if (!routes_permit(exchange))
        exchange->response.must_close = true;
    else if (size > 0 && (uint64_t) size > exchange->request.body_max)
        refuse(exchange, 413, BODY_TOO_LONG);
    return !exchange->response.status;
}

static bool waits_for_word(struct lws *wsi)
{
    cleanup_free char *expected = request_head_text(wsi, WSI_TOKEN_HTTP_EXPECT);

    return expected && strcasecmp(expected, "100-continue") == 0;
}

/* Answers 100 Continue: clients with a long body wait a second for it. */
static int say_continue(struct lws *wsi)
{
    char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

    return lws_write(wsi, (unsigned char *) text, sizeof text - 1,
                     LWS_WRITE_HTTP_HEADERS)
                   < 0
               ? -1
               : 0;
}

static int on_request(http_t *http, struct lws *wsi, connection_t *connection)
{
    int64_t size = -1;

    exchange_destroy(&connection->exchange);
    connection->body_ends = 0;
    exchange_t *exchange = connection->exchange = read_head(http, wsi);
    exchange->request.body_max = body_max(http);
    if (check_head(exchange, wsi))
        size = check_body(wsi, exchange);
    if (exchange->response.status
        || (size <= 0 && !exchange->request.is_chunked)
        || !may_send(exchange, size))
        dispatch(exchange);
    else if (waits_for_word(wsi))
        return say_continue(wsi);
    return 0;
}

static void take(exchange_t *exchange, const void *bytes, size_t size)
{
    exchange->request.received += size;
    if (!memory_quota_set(&exchange->http->memory, &exchange->request.held,
                          exchange->request.body.size + size))
        refuse_for_now(exchange, MEMORY_QUOTA_PATIENCE);
    else if (size)
        buffer_append(&exchange->request.body, bytes, size);
}

static void take_chunks(exchange_t *exchange, const void *bytes, size_t size)
{
    cleanup_buffer buffer_t found = BUFFER_EMPTY;
    int r = chunked_feed(
        &exchange->request.chunks, bytes, size,
        exchange->request.body_max - exchange->request.received, &found);

    if (r == -EMSGSIZE)
        refuse(exchange, 413, BODY_TOO_LONG);
    else if (r < 0)
        refuse(exchange, 400, "The body has invalid chunks");
    else
        take(exchange, found.data, found.size);
    if (r != 0 || exchange->response.status)
        dispatch(exchange);
}

static int on_body(http_t *http, connection_t *connection, const void *bytes,
                   size_t size)
{
    exchange_t *exchange = connection->exchange;
    int64_t spent_us, allowed_us;

    if (!exchange || exchange->is_dispatched)
        return 0;
    spent_us = clock_monotonic_us() - exchange->begun_us;
    allowed_us = http->options->http.request_timeout_ms * 1000
                 + (int64_t) (exchange->request.received / BODY_RATE) * 1000000;
    if (spent_us > allowed_us)
        return -1;
    if (exchange->request.is_chunked) {
        take_chunks(exchange, bytes, size);
        return 0;
    }
    if (exchange->request.received + size > exchange->request.body_max)
        return -1;
    take(exchange, bytes, size);
    if (exchange->response.status)
        dispatch(exchange);
    return 0;
}

/* Takes the end of a body. A next request that came with the body in one piece
 * makes libwebsockets report this end again: until the answer is written, or
 * without end and with nothing in between. The connection is closed then. */
static int on_body_end(connection_t *connection)
{
    exchange_t *exchange = connection->exchange;

    if (++connection->body_ends > BODY_ENDS_MAX)
        return -1;
    if (!exchange || exchange->is_dispatched)
        return 0;
    /* libwebsockets assumes a length of 100 MiB for a body without one. */
    if (exchange->request.is_chunked)
        refuse(exchange, 413, "A body in chunks has 100 MiB at most");
    dispatch(exchange);
    return 0;
}

/* --- Upgrades --- */

/* Sends the whole refusal at once: libwebsockets ends the request, and the
 * connection with it, when this returns. */
static int refuse_upgrade(struct lws *wsi, connection_t *connection)
{
    exchange_t *exchange = connection->exchange;

    exchange->response.must_close = true;
    response_writer_head(exchange, &exchange->response.out);
    buffer_append(&exchange->response.out, exchange->response.body.data,
                  exchange->response.body.size);
    if (lws_write(wsi, exchange->response.out.data, exchange->response.out.size,
                  LWS_WRITE_HTTP_HEADERS)
        < 0)
        return -1;
    metrics_count_answer(exchange);
    exchange_destroy(&connection->exchange);
    return -1;
}

/* Answers a request for another protocol; 0 if it becomes a WebSocket. If
 * libwebsockets does not know the protocol, it has answered by itself and freed
 * the request's head. */
static int on_upgrade(http_t *http, struct lws *wsi, connection_t *connection,
                      const char *protocol)
{
    routes_socket_t begun = {0};

    if (lws_hdr_total_length(wsi, WSI_TOKEN_UPGRADE) <= 0)
        return -1;
    exchange_destroy(&connection->exchange);
    exchange_t *exchange = connection->exchange = read_head(http, wsi);
    if (strcasecmp(protocol, "websocket") != 0)
        refuse(exchange, 400,
               "Can \"Upgrade\" only to \"WebSocket\"; HTTP/1.1 needs no such "
               "line");
    else if (check_head(exchange, wsi))
        begun = routes_upgrade(exchange);
    connection->ws_client = begun.ws_client;
    connection->terminal = begun.terminal;
    connection->feed = begun.feed;
    if (!begun.ws_client && !begun.terminal && !begun.feed)
        return refuse_upgrade(wsi, connection);
    exchange_destroy(&connection->exchange);
    return 0;
}

/* --- Callbacks of libwebsockets --- */

static void forget(http_t *http, struct lws *wsi)
{
    connection_t *connection = lws_get_opaque_user_data(wsi);

    if (!connection)
        return;
    lws_set_opaque_user_data(wsi, NULL);
    exchange_destroy(&connection->exchange);
    ws_client_destroy(&connection->ws_client);
    terminal_socket_destroy(&connection->terminal);
    feed_socket_destroy(&connection->feed);
    if (connection->is_counted)
        http->connections.count--;
    free(connection);
}

static int on_http(http_t *http, struct lws *wsi,
                   enum lws_callback_reasons reason, void *in, size_t size)
{
    connection_t *connection = lws_get_opaque_user_data(wsi);

    if (!connection)
        return 0;
    /* A few of the library's many: the cast quiets -Wswitch-enum. */
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
        return response_writer_on_writable(wsi, &connection->exchange);
    case LWS_CALLBACK_CLOSED_HTTP:
        exchange_destroy(&connection->exchange);
        return 0;
    default:
        if (connection->terminal)
            return terminal_socket_callback(connection->terminal, wsi, reason,
                                            in, size);
        if (connection->feed)
            return feed_socket_callback(connection->feed, wsi, reason, in,
                                        size);
        return ws_client_callback(connection->ws_client, wsi, reason, in, size);
    }
}

int connection_callback(struct lws *wsi, enum lws_callback_reasons reason,
                        void *user, void *in, size_t size)
{
    (void) user;
    /* The result is OpenSSL's: 0 would accept any certificate. The wsi is not a
     * connection yet. */
    if (reason == LWS_CALLBACK_OPENSSL_PERFORM_CLIENT_CERT_VERIFICATION)
        return size ? 0 : 1;
    http_t *http = lws_context_user(lws_get_context(wsi));
    /* A few of the library's many: the cast quiets -Wswitch-enum. */
    switch ((int) reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
    case LWS_CALLBACK_HTTP:
    case LWS_CALLBACK_HTTP_BODY:
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    case LWS_CALLBACK_HTTP_WRITEABLE:
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_ESTABLISHED:
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_TIMER:
    case LWS_CALLBACK_CLOSED:
        return on_http(http, wsi, reason, in, size);
    case LWS_CALLBACK_WSI_DESTROY:
        forget(http, wsi);
        return 0;
    /* CONNECT would make a raw connection, which is closed without an answer.
     */
    case LWS_CALLBACK_RAW_ADOPT:
    case LWS_CALLBACK_RAW_RX:
        return -1;
    default:
        return 0;
    }
}
