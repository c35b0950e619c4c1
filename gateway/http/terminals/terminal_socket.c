/* See terminal_socket.h. Output that waits for the client is one text, which is
 * cut into messages when the socket takes them. */
#include "gateway/http/terminals/terminal_socket.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "gateway/http/core/authorize_audit.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/sockets/socket_keepalive.h"
#include "gateway/http/terminals/terminal_message.h"
#include "gateway/http/terminals/terminals.h"

#include <string.h>

#define PIECE_MAX (16u << 10) /* bytes of output in a message */
/* bytes that wait, beyond which no output is taken */
#define WAITING_MAX (128u << 10)
#define FRAME_MAX   (2u << 20)  /* of a client: text may be escaped */
#define KEEP        (16u << 10) /* bytes of an inbox that are kept */
#define OBSERVER    "\r\n[hearth: this token may only look]\r\n"

struct terminal_socket {
    terminal_viewer_t viewer; /* first member: gets the terminal's output */
    http_t *http;             /* borrowed */
    web_terminal_t *terminal; /* borrowed; NULL once the terminal is gone */
    struct lws *wsi;          /* borrowed; NULL before and after */
    bool may_type;            /* its token has the scope execute */
    bool was_warned;          /* that it may not */
    bool is_set_up;           /* the first message was sent */
    bool says_end;            /* the program has ended: one message is due */
    buffer_t inbox;           /* the frame that is coming in */
    uint64_t held;            /* bytes of it that count (memory_quota.h) */
    buffer_t waiting;         /* output for the client */
    int status;               /* not 0: close when nothing waits */
    socket_keepalive_t keepalive;
};

/* Returns the socket whose first member the viewer is. */
static terminal_socket_t *socket_of(terminal_viewer_t *viewer)
{
    return (terminal_socket_t *) viewer;
}

static void wake(terminal_socket_t *self)
{
    if (self->wsi)
        lws_callback_on_writable(self->wsi);
}

/* ---- what the terminal says ---- */

static void on_output(terminal_viewer_t *viewer, bytes_t text)
{
    terminal_socket_t *self = socket_of(viewer);

    buffer_append(&self->waiting, text.bytes, text.size);
    memory_quota_wait(&self->http->memory, (int64_t) text.size);
    wake(self);
}

static bool is_full(const terminal_viewer_t *viewer)
{
    const terminal_socket_t *self = (const terminal_socket_t *) viewer;

    return self->waiting.size >= WAITING_MAX;
}

static void on_end(terminal_viewer_t *viewer, int status)
{
    terminal_socket_t *self = socket_of(viewer);

    self->terminal = NULL;
    self->says_end = !status;
    self->status = status ? status : LWS_CLOSE_STATUS_NORMAL;
    wake(self);
}

static void on_tick(terminal_viewer_t *viewer, int64_t now)
{
    terminal_socket_t *self = socket_of(viewer);

    if (self->wsi
        && socket_keepalive_tick(&self->keepalive, self->wsi,
                                 self->http->options->http.ping_interval_ms,
                                 now))
        wake(self);
}

static const terminal_viewer_ops_t viewer_ops = {
    .output = on_output, .is_full = is_full, .end = on_end, .tick = on_tick};

/* ---- life ---- */

terminal_socket_t *terminal_socket_new(exchange_t *exchange)
{
    const char *name = exchange->request.parameters[0];
    const options_http_t *options = &exchange->http->options->http;
    char who[EXCHANGE_WHO_SIZE];
    terminal_socket_t *self;
    web_terminal_t *terminal;

    exchange->http->drain(exchange->http); /* its end may have come */
    terminal = terminals_find(exchange->http, name);
    if (!terminal) {
        exchange_fail(exchange, 404, "Terminal not found: %.64s", name);
        return NULL;
    }
    if (exchange->request.headers[HEADER_PROTOCOLS]) {
        exchange_fail(exchange, 400, "A terminal has no sub-protocol");
        return NULL;
    }
    self = mem_new(sizeof *self);
    self->viewer.ops = &viewer_ops;
    self->http = exchange->http;
    self->terminal = terminal;
    self->http->connections.terminals++;
    self->may_type = exchange->scopes & SCOPE_EXECUTE;
    socket_keepalive_begin(&self->keepalive, options->ping_interval_ms,
                           clock_monotonic_ms());
    authorize_note_use(exchange, "attach", exchange_who(exchange, who),
                       web_terminal_place(terminal).session);
    web_terminal_add(terminal, &self->viewer);
    return self;
}

static void part(terminal_socket_t *self)
{
    if (self->terminal)
        web_terminal_remove(self->terminal, &self->viewer);
    self->terminal = NULL;
}

void terminal_socket_destroy(terminal_socket_t **self_p)
{
    terminal_socket_t *self = *self_p;

    if (!self)
        return;
    part(self);
    self->http->connections.terminals--;
    memory_quota_wait(&self->http->memory, -(int64_t) self->waiting.size);
    (void) memory_quota_set(&self->http->memory, &self->held, 0);
    buffer_reset(&self->waiting);
    buffer_reset(&self->inbox);
    free(self);
    *self_p = NULL;
}

/* ---- what the client says ---- */

static void say_that_it_only_looks(terminal_socket_t *self)
{
    if (!self->was_warned)
        on_output(&self->viewer, (bytes_t){OBSERVER, sizeof OBSERVER - 1});
    self->was_warned = true;
}

static int on_frame(terminal_socket_t *self, struct lws *wsi)
{
    cleanup_terminal_message terminal_message_t message = {0};

    if (!terminal_message_read(self->inbox.data, self->inbox.size, &message))
        return socket_close_send(
            wsi, LWS_CLOSE_STATUS_INVALID_PAYLOAD,
            "a message is a JSON array that begins with its type");
    if (!self->terminal || message.kind == TERMINAL_MESSAGE_OTHER)
        return 0;
    if (!self->may_type) {
        if (message.kind == TERMINAL_MESSAGE_STDIN)
            say_that_it_only_looks(self);
        return 0;
    }
    if (message.kind == TERMINAL_MESSAGE_SET_SIZE) {
        self->viewer.rows = message.rows;
        self->viewer.columns = message.columns;
        web_terminal_resize(self->terminal);
    } else if (!web_terminal_input(self->terminal,
                                   buffer_bytes(&message.text))) {
        return socket_close_send(
            wsi, WS_CLOSE_TRY_AGAIN_LATER,
            "the program has not read the input that waits");
    }
    return 0;
}

static int receive(terminal_socket_t *self, struct lws *wsi, const void *bytes,
                   size_t size)
{
    uint64_t max = self->http->options->http.frame_max;
    size_t whole = self->inbox.size + size + lws_remaining_packet_payload(wsi);
    int r;

    if (whole > FRAME_MAX || whole > max)
        return socket_close_send(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
                                 "a message of a terminal has 2 MiB at most");
    if (!memory_quota_set(&self->http->memory, &self->held,
                          self->inbox.size + size))
        return socket_close_send(
            wsi, WS_CLOSE_TRY_AGAIN_LATER,
            "too many messages arrive at this time; try again later");
    buffer_append(&self->inbox, bytes, size);
    if (lws_remaining_packet_payload(wsi) || !lws_is_final_fragment(wsi))
        return 0;
    r = on_frame(self, wsi);
    if (self->inbox.capacity > KEEP)
        buffer_reset(&self->inbox);
    else
        buffer_clear(&self->inbox);
    (void) memory_quota_set(&self->http->memory, &self->held, 0);
    return r;
}

/* ---- what the client gets ---- */

static void take_output(terminal_socket_t *self, buffer_t *frame)
{
    const char *text = (const char *) self->waiting.data;
    size_t size = self->waiting.size <= PIECE_MAX ? self->waiting.size
                                                  : utf8_cut(text, PIECE_MAX);
    bool was_full = is_full(&self->viewer);

    if (!size)
        size = PIECE_MAX; /* of a text that is no UTF-8 */
    terminal_message_write_stdout(frame, (bytes_t){text, size});
    buffer_consume(&self->waiting, size);
    memory_quota_wait(&self->http->memory, -(int64_t) size);
    if (was_full && !is_full(&self->viewer) && self->terminal)
        web_terminal_relax(self->terminal);
}

/* Writes the next message. Returns false if none is due. */
static bool next_frame(terminal_socket_t *self, buffer_t *frame)
{
    buffer_reserve(frame, LWS_PRE);
    frame->size = LWS_PRE;
    if (!self->is_set_up) {
        terminal_message_write_setup(frame);
        self->is_set_up = true;
    } else if (self->waiting.size) {
        take_output(self, frame);
    } else if (self->says_end) {
        terminal_message_write_disconnect(frame);
        self->says_end = false;
    } else {
        return false;
    }
    return true;
}

static int on_writable(terminal_socket_t *self)
{
    if (socket_keepalive_write(&self->keepalive, self->wsi) < 0)
        return -1;
    while (!lws_send_pipe_choked(self->wsi)) {
        cleanup_buffer buffer_t frame = BUFFER_EMPTY;

        if (!next_frame(self, &frame))
            return self->status ? socket_close_send(self->wsi, self->status, "")
                                : 0;
        if (lws_write(self->wsi, frame.data + LWS_PRE, frame.size - LWS_PRE,
                      LWS_WRITE_TEXT)
            < 0)
            return -1;
    }
    wake(self);
    return 0;
}

int terminal_socket_callback(terminal_socket_t *self, struct lws *wsi,
                             enum lws_callback_reasons reason, void *in,
                             size_t size)
{
    /* A few of the library's many: the cast quiets -Wswitch-enum. */
    switch ((int) reason) {
    case LWS_CALLBACK_ESTABLISHED:
        self->wsi = wsi;
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
        wake(self);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return receive(self, wsi, in, size);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        return socket_close_receive(wsi, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_writable(self);
    case LWS_CALLBACK_CLOSED:
        self->wsi = NULL;
        part(self);
        return 0;
    default:
        return 0;
    }
}
