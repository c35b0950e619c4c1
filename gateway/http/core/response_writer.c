/* See response_writer.h. What goes out is a head and a body that lies in
 * memory, in a file, or comes from a source piece by piece; so much of it as
 * the client takes, and the rest when there is room again. */
#include "gateway/http/core/response_writer.h"

#include "base/clock.h"
#include "gateway/http/core/header_overflow.h"
#include "gateway/http/core/metrics.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define CHUNK         (64u << 10) /* bytes of a file that are read at once */
#define WRITE_SECONDS 60 /* a client that takes nothing for so long is left */

static uint64_t answer_size(const exchange_t *exchange)
{
    if (exchange->has_source_size)
        return exchange->source_size;
    return exchange->file >= 0 ? exchange->file_size : exchange->answer.size;
}

void sender_head(const exchange_t *exchange, buffer_t *out)
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
        sender_head(exchange, out);
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

int sender_on_writable(struct lws *wsi, connection_t *connection)
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
            connection_rest(exchange);
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
