/* See mcp_stream.h. Subscribing waits for each answer, because the stream that
 * is opened after it has a notification of each resource: something may have
 * changed meanwhile. */
#include "gateway/cli/mcp/mcp_stream.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define PAUSE_MIN_MS 200   /* between two tries */
#define PAUSE_MAX_MS 10000 /* it doubles up to this */
#define LIVED_MS     5000  /* a stream of this age was no failed try */
#define ANSWERS_MS   5000  /* to all subscriptions: nothing else is done then */
#define PIECE        (64u << 10)

static void close_stream(mcp_stream_t *self)
{
    net_stream_close(&self->stream);
    http_reply_clear(&self->reply);
    self->opened_ms = 0;
}

void mcp_stream_clear(mcp_stream_t *self)
{
    close_stream(self);
    json_decref(self->uris);
    self->uris = NULL;
}

/* Has the stream opened at once. */
static void begin(mcp_stream_t *self)
{
    close_stream(self);
    self->is_wanted = true;
    self->due_ms = 0;
    self->pause_ms = PAUSE_MIN_MS;
}

/* Opens the stream again later: it has ended, or a try to open it has failed. A
 * stream that is cut soon after its start counts as a try: it would be opened
 * at once, for ever. */
static void try_later(mcp_stream_t *self)
{
    int64_t now = clock_monotonic_ms();

    if (self->opened_ms && now - self->opened_ms >= LIVED_MS)
        self->pause_ms = PAUSE_MIN_MS;
    close_stream(self);
    self->due_ms = now + self->pause_ms;
    self->pause_ms *= 2;
    if (self->pause_ms > PAUSE_MAX_MS)
        self->pause_ms = PAUSE_MAX_MS;
}

void mcp_stream_note(mcp_stream_t *self, const json_t *message,
                     const json_t *answer)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const char *uri = json_string_value(
        json_object_get(json_object_get(message, "params"), "uri"));
    bool is_done = json_object_get(answer, "result") != NULL;

    if (!method || mcp_request_is_modern(message))
        return;
    if (strcmp(method, "initialize") == 0 && is_done) {
        mcp_stream_clear(self);
        self->is_wanted = false;
        self->uris = json_object();
    } else if (strcmp(method, "notifications/initialized") == 0) {
        begin(self);
    } else if (strcmp(method, "resources/subscribe") == 0 && is_done && uri) {
        json_object_set_new(self->uris, uri, json_true());
    } else if (strcmp(method, "resources/unsubscribe") == 0 && uri) {
        json_object_del(self->uris, uri);
    }
}

int mcp_stream_wait_ms(const mcp_stream_t *self)
{
    int64_t left = self->due_ms - clock_monotonic_ms();

    if (!self->is_wanted || self->stream.fd >= 0)
        return -1;
    return left < 0 ? 0 : (int) left;
}

/* --- Opening --- */

/* Reads the whole answer; it says nothing that the client has to know. -EBUSY
 * if a later request may have another one. */
static int await_answer(net_stream_t *stream, int64_t deadline)
{
    CLEANUP(http_reply_clear) http_reply_t reply = {0};
    fault_t ignored;

    while (!reply.is_over) {
        uint8_t bytes[4096];
        ssize_t got = net_stream_read(stream, bytes, sizeof bytes, &ignored);
        int64_t left = deadline - clock_monotonic_ms();
        struct pollfd one = {.fd = stream->fd, .events = POLLIN};

        if (got == -EAGAIN) {
            if (left <= 0 || (poll(&one, 1, (int) left) < 0 && errno != EINTR))
                return -ETIMEDOUT;
        } else if (got <= 0
                   || http_reply_feed(&reply, bytes, (size_t) got) < 0) {
            return -ECONNRESET;
        }
    }
    return http_reply_is_for_now(&reply) ? -EBUSY : 0;
}

static void close_connection(net_stream_t *stream)
{
    net_stream_close(stream);
}

/* Sends a request of a connection of its own, and waits for the answer. */
static int ask(const mcp_place_t *place, const buffer_t *request,
               int64_t deadline)
{
    CLEANUP(close_connection) net_stream_t stream = NET_STREAM_CLOSED;
    fault_t ignored;
    int r = mcp_place_connect(place, &stream, &ignored);

    if (r == 0)
        r = net_stream_write(&stream, request->data, request->size, &ignored);
    return r < 0 ? r : await_answer(&stream, deadline);
}

static int subscribe(const mcp_place_t *place, const mcp_client_t *client,
                     const char *uri, int64_t deadline)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    json_auto_t *message =
        json_pack("{s:s,s:s,s:s,s:{s:s}}", "jsonrpc", "2.0", "id", "hearth mcp",
                  "method", "resources/subscribe", "params", "uri", uri);

    mcp_request_write(place, client, message, NULL, 0, &out);
    return ask(place, &out, deadline);
}

static int open_all(mcp_stream_t *self, const mcp_place_t *place,
                    const mcp_client_t *client)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    int64_t deadline = clock_monotonic_ms() + ANSWERS_MS;
    fault_t ignored;
    const char *uri;
    json_t *value;
    int r;

    json_object_foreach(self->uris, uri, value)
    {
        if (clock_monotonic_ms() >= deadline)
            return -ETIMEDOUT;
        if ((r = subscribe(place, client, uri, deadline)) < 0)
            return r;
    }
    if ((r = mcp_place_connect(place, &self->stream, &ignored)) < 0)
        return r;
    mcp_request_write_get(place, client, &out);
    return net_stream_write(&self->stream, out.data, out.size, &ignored);
}

void mcp_stream_open(mcp_stream_t *self, const mcp_place_t *place,
                     const mcp_client_t *client)
{
    if (!place || open_all(self, place, client) < 0)
        try_later(self);
    else
        self->opened_ms = clock_monotonic_ms();
}

void mcp_stream_end(mcp_stream_t *self, const mcp_place_t *place,
                    const mcp_client_t *client)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    close_stream(self);
    mcp_request_write_delete(place, client, &out);
    (void) ask(place, &out, clock_monotonic_ms() + ANSWERS_MS);
}

/* --- Reading --- */

/* Returns false if nothing more is there. */
static bool read_piece(mcp_stream_t *self)
{
    uint8_t bytes[PIECE];
    fault_t ignored;
    ssize_t got;

    if (self->stream.fd < 0)
        return false;
    got = net_stream_read(&self->stream, bytes, sizeof bytes, &ignored);
    if (got == -EAGAIN)
        return false;
    if (got <= 0 || http_reply_feed(&self->reply, bytes, (size_t) got) < 0) {
        try_later(self);
        return false;
    }
    /* A gateway that refuses the stream, to a token without the scope observe,
     * refuses the next one as well. One without room may have it later. */
    if (http_reply_is_for_now(&self->reply)) {
        try_later(self);
        return false;
    }
    if (self->reply.status && !self->reply.is_stream) {
        close_stream(self);
        self->is_wanted = false;
        return false;
    }
    return true;
}

bool mcp_stream_next(mcp_stream_t *self, buffer_t *out)
{
    do {
        if (http_reply_next(&self->reply, out))
            return true;
        if (self->reply.is_over)
            try_later(self);
    } while (read_piece(self));
    return false;
}
