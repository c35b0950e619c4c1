/* See response_writer.h. An answer is a head and a body, which is in memory, in
 * a file, or comes from a source piece by piece. As much is written as the
 * client takes, and the rest when there is room again. */
#include "gateway/http/core/response_writer.h"
#include "gateway/http/core/authorize.h"

#include "base/clock.h"
#include "gateway/http/core/metrics.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define CHUNK (64u << 10) /* bytes of a file that are read at once */
#define WRITE_SECONDS                                                          \
    60 /* a client that takes nothing for this time is disconnected */

static uint64_t answer_size(const exchange_t *exchange)
{
    if (exchange->response.source.has_size)
        return exchange->response.source.size;
    return exchange->response.file >= 0 ? exchange->response.file_size
                                        : exchange->response.body.size;
}

void response_writer_head(const exchange_t *exchange, buffer_t *out)
{
    char date[64];
    time_t now = (time_t) (clock_wall_us() / 1000000);
    struct tm calendar;

    gmtime_r(&now, &calendar);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &calendar);
    buffer_format(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n",
                  exchange->response.status,
                  status_text(exchange->response.status), date);
    authorize_headers(exchange, out);
    if (exchange->response.status == 401)
        buffer_text(out, "WWW-Authenticate: Bearer\r\n"); /* RFC 9110, 15.5.2 */
    buffer_append(out, exchange->response.head.data,
                  exchange->response.head.size);
    if (exchange->response.type)
        buffer_format(out, "Content-Type: %s\r\n", exchange->response.type);
    if (exchange->response.source.next && !exchange->response.source.has_size)
        buffer_text(out, "Transfer-Encoding: chunked\r\n");
    else if (exchange->response.status != 204
             && exchange->response.status != 304)
        buffer_format(out, "Content-Length: %llu\r\n",
                      (unsigned long long) answer_size(exchange));
    buffer_format(out, "Connection: %s\r\n\r\n",
                  exchange->response.must_close ? "close" : "keep-alive");
}

static bool has_body(const exchange_t *exchange)
{
    return exchange->request.method != METHOD_HEAD
           && exchange->response.status != 204
           && exchange->response.status != 304;
}

/* Adds the source's bytes as a chunk, and the final chunk after the last one.
 */
static int next_chunk(exchange_t *exchange)
{
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;
    int r =
        exchange->response.source.next(exchange->response.source.state, &piece);

    if (r < 0)
        return r;
    buffer_clear(&exchange->response.out);
    exchange->response.sent = 0;
    exchange->response.is_drained = r == 0;
    if (exchange->response.source.has_size) {
        buffer_append(&exchange->response.out, piece.data, piece.size);
        return 0;
    }
    if (piece.size) {
        buffer_format(&exchange->response.out, "%zx\r\n", piece.size);
        buffer_append(&exchange->response.out, piece.data, piece.size);
        buffer_text(&exchange->response.out, "\r\n");
    }
    if (r == 0)
        buffer_text(&exchange->response.out, "0\r\n\r\n");
    return 0;
}

/* Returns the size of the next piece. Returns 0 if the last one was sent or the
 * next is not ready, a negative number if the file failed, which ends the
 * answer. */
static ssize_t next_piece(exchange_t *exchange, const uint8_t **ret_piece)
{
    buffer_t *out = &exchange->response.out;

    if (!exchange->response.is_begun) {
        exchange->response.is_begun = true;
        response_writer_head(exchange, out);
        if (has_body(exchange) && exchange->response.file < 0)
            buffer_append(out, exchange->response.body.data,
                          exchange->response.body.size);
    } else if (exchange->response.sent == out->size
               && exchange->response.file >= 0 && has_body(exchange)
               && exchange->response.file_size > 0) {
        size_t want = exchange->response.file_size < CHUNK
                          ? (size_t) exchange->response.file_size
                          : CHUNK;
        buffer_clear(out);
        exchange->response.sent = 0;
        ssize_t got =
            read(exchange->response.file, buffer_reserve(out, want), want);
        if (got <= 0)
            return -EIO;
        out->size = (size_t) got;
        exchange->response.file_size -= (uint64_t) got;
    } else if (exchange->response.sent == out->size
               && exchange->response.source.next && has_body(exchange)
               && !exchange->response.is_drained) {
        if (next_chunk(exchange) < 0)
            return -EIO;
    }
    size_t left = out->size - exchange->response.sent;
    *ret_piece = out->data + exchange->response.sent;
    return (ssize_t) (left < CHUNK ? left : CHUNK);
}

/* Makes a connection ready for the next request after an answer; negative if it
 * has to be closed. */
static int finish(struct lws *wsi, exchange_t **exchange_p)
{
    exchange_t *exchange = *exchange_p;
    bool must_close = exchange->response.must_close;

    metrics_count_answer(exchange);
    exchange_destroy(exchange_p);
    if (must_close)
        return -1;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* Returns true if more will follow, but not now. */
static bool is_waiting(const exchange_t *exchange)
{
    return exchange->response.source.next && has_body(exchange)
           && !exchange->response.is_drained;
}

int response_writer_on_writable(struct lws *wsi, exchange_t **exchange_p)
{
    exchange_t *exchange = *exchange_p;
    const uint8_t *piece;
    ssize_t size;

    if (!exchange || !exchange->response.status)
        return 0;
    do {
        if ((size = next_piece(exchange, &piece)) < 0)
            return -1;
        if (size == 0 && is_waiting(exchange)) {
            lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
            exchange_rest(exchange);
            return 0;
        }
        if (size == 0)
            return finish(wsi, exchange_p);
        /* In HTTP/1 nothing comes before the bytes, so no room is needed for a
         * header (LWS_PRE). */
        uint8_t *bytes = NULL;
        memcpy(&bytes, &piece, sizeof bytes);
        if (lws_write(wsi, bytes, (size_t) size, LWS_WRITE_HTTP) < size)
            return -1;
        exchange->response.sent += (uint64_t) size;
    } while (!lws_send_pipe_choked(wsi));
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, WRITE_SECONDS);
    lws_callback_on_writable(wsi);
    return 0;
}
