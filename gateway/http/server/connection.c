/* One client's connection, as libwebsockets tells of it: a request's head
 * (gateway/http/core/request_head.h) and body come in, its answer goes out
 * (gateway/http/core/response_writer.h), or it becomes a WebSocket. Limits are
 * looked at before anything is believed. HTTP/1.1 alone: HTTP/2 is not offered
 * over TLS, and an offer to upgrade to it is passed over. */
#include "gateway/http/core/internal.h"

#include "base/clock.h"
#include "gateway/http/core/header_overflow.h"
#include "gateway/http/core/lingering_close.h"
#include "gateway/http/core/metrics.h"
#include "gateway/http/core/request_head.h"
#include "gateway/http/core/response_writer.h"
#include "gateway/http/server/routes.h"
#include "gateway/http/server/server.h"
#include "gateway/http/ws/websocket.h"
#include "protocol/limits.h"
#include "protocol/websocket.h"

#include <errno.h>
#include <string.h>

#define BODY_RATE (16u << 10) /* bytes a second that a body must have */
#define BODY_TOO_LONG                                                          \
    "The body is longer than it may be (http/body_max, 128 MiB where it is "   \
    "no file's, and 64 KiB where no token is asked for); a file of any size "  \
    "can be written in chunks"
#define BODY_MEMORY_MAX WIRE_FRAME_MAX /* bytes; more reaches no kernel */

/* --- Requests --- */

void connection_wake(exchange_t *exchange)
{
    if (!exchange->wsi)
        return;
    lws_rx_flow_control(exchange->wsi, 1);
    lws_callback_on_writable(exchange->wsi);
}

/* What comes behind a request that is being answered, and the end of a client
 * that has gone, would wake this thread all the time. libwebsockets writes
 * nothing either meanwhile. */
void connection_rest(exchange_t *exchange)
{
    lws_rx_flow_control(exchange->wsi, 0);
}

static void refuse(exchange_t *exchange, int status, const char *text)
{
    exchange->must_close = true;
    exchange_fail(exchange, status, "%s", text);
}

/* False: it is none that can be answered, and was refused. */
static bool check_line(exchange_t *exchange, struct lws *wsi)
{
    if (!exchange->method)
        refuse(exchange, 405, "There is no such method here");
    else if (!head_is_http(wsi))
        refuse(exchange, 400,
               "The first line of a request is METHOD /PATH HTTP/1.1, without "
               "a line feed (%0a, %0d) in the path");
    else if (!head_is_text(exchange->path))
        refuse(exchange, 400, "The path is no UTF-8 text");
    return !exchange->status;
}

static void dispatch(exchange_t *exchange)
{
    exchange->is_dispatched = true;
    /* From here on it is up to us how long it takes. */
    lws_set_timeout(exchange->wsi, NO_PENDING_TIMEOUT, 0);
    if (!exchange->status)
        routes_dispatch(exchange);
    if (!exchange->status)
        connection_rest(exchange);
}

/* How the body comes, and whether it may. -1: it has no length. */
static int64_t check_body(http_t *http, struct lws *wsi, exchange_t *exchange)
{
    int64_t size = head_body_size(wsi);
    bool has_body =
        exchange->method & (METHOD_POST | METHOD_PUT | METHOD_PATCH);
    cleanup_free char *coding =
        head_text(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING);

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

static void refuse_for_now(exchange_t *exchange, int patience)
{
    exchange_header(exchange, "Retry-After", "%d", patience);
    refuse(exchange, 503,
           "too much is being uploaded at this time; try again later");
}

/* A file does not have to fit into memory. */
static void open_deposit(exchange_t *exchange, int64_t size)
{
    exchange->deposit =
        deposit_new(&exchange->http->deposits, size > 0 ? (uint64_t) size : 0);
    if (!exchange->deposit)
        refuse_for_now(exchange, DEPOSIT_PATIENCE);
}

/* A model of a file goes to the disk, everything else to memory. */
static bool is_too_long(const exchange_t *exchange, int64_t size)
{
    return (size > 0 && (uint64_t) size > exchange->body_max)
           || (!exchange->is_model && size > (int64_t) BODY_MEMORY_MAX);
}

/* What somebody sends who may not is not kept in memory until it is all there.
 * False: it was refused. */
static bool may_send(exchange_t *exchange, int64_t size)
{
    if (!exchange->is_chunked && size <= (int64_t) ROUTES_BODY_SMALL)
        return true;
    if (!routes_permit(exchange))
        exchange->must_close = true;
    else if (is_too_long(exchange, size))
        refuse(exchange, 413, BODY_TOO_LONG);
    else if (exchange->is_model)
        open_deposit(exchange, size);
    else if (exchange->body_max > BODY_MEMORY_MAX)
        exchange->body_max = BODY_MEMORY_MAX;
    return !exchange->status;
}

static bool waits_for_word(struct lws *wsi)
{
    cleanup_free char *expected = head_text(wsi, WSI_TOKEN_HTTP_EXPECT);

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
    exchange_t *exchange = connection->exchange = head_read(http, wsi);
    exchange->body_max = http->options->http.body_max;
    if (check_line(exchange, wsi))
        size = check_body(http, wsi, exchange);
    if (exchange->status || (size <= 0 && !exchange->is_chunked)
        || !may_send(exchange, size))
        dispatch(exchange);
    else if (waits_for_word(wsi))
        return say_continue(wsi);
    return 0;
}

static void take(exchange_t *exchange, const void *bytes, size_t size)
{
    exchange->received += size;
    if (exchange->deposit)
        deposit_feed(exchange->deposit, bytes, size);
    else if (!holding_set(&exchange->http->holdings, &exchange->held,
                          exchange->body.size + size))
        refuse_for_now(exchange, HOLDING_PATIENCE);
    else if (size)
        buffer_append(&exchange->body, bytes, size);
}

static void take_chunks(exchange_t *exchange, const void *bytes, size_t size)
{
    cleanup_buffer buffer_t found = BUFFER_EMPTY;
    int r = chunks_feed(&exchange->chunks, bytes, size,
                        exchange->body_max - exchange->received, &found);

    if (r == -EMSGSIZE)
        refuse(exchange, 413, BODY_TOO_LONG);
    else if (r < 0)
        refuse(exchange, 400, "The chunks of the body are none");
    else
        take(exchange, found.data, found.size);
    if (r != 0 || exchange->status)
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
                 + (int64_t) (exchange->received / BODY_RATE) * 1000000;
    if (spent_us > allowed_us)
        return -1;
    if (exchange->is_chunked) {
        take_chunks(exchange, bytes, size);
        return 0;
    }
    if (exchange->received + size > exchange->body_max)
        return -1;
    take(exchange, bytes, size);
    if (exchange->status)
        dispatch(exchange);
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
    sender_head(exchange, &exchange->out);
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
    exchange_t *exchange = connection->exchange = head_read(http, wsi);
    if (check_line(exchange, wsi))
        connection->viewer = routes_upgrade(exchange);
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
        return sender_on_writable(wsi, connection);
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
    (void) user;
    /* Whether OpenSSL found it good is all that counts; 0 would say that it is,
     * whatever OpenSSL found. The wsi is no connection yet. */
    if (reason == LWS_CALLBACK_OPENSSL_PERFORM_CLIENT_CERT_VERIFICATION)
        return size ? 0 : 1;
    http_t *http = lws_context_user(lws_get_context(wsi));
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
        parting_say(http, wsi, 405, "There is no such method here");
        return -1;
    case LWS_CALLBACK_RAW_RX:
        return -1;
    default:
        return 0;
    }
}
