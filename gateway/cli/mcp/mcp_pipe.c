/* See mcp_pipe.h. One thread, one poll: standard input, and a connection for
 * each request under way. Connecting and writing wait. */
#include "gateway/cli/mcp/mcp_pipe.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/cli/client/http_reply.h"
#include "gateway/cli/client/net_stream.h"
#include "gateway/cli/mcp/mcp_held.h"
#include "gateway/cli/mcp/mcp_listen.h"
#include "gateway/cli/mcp/mcp_output.h"
#include "gateway/cli/mcp/mcp_request.h"
#include "gateway/cli/mcp/mcp_stream.h"
#include "gateway/cli/mcp/mcp_subscriptions.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX (32u << 20) /* bytes of a message */
#define LOSSES_MAX  2           /* gateways that end under a request */
#define PATIENCE_MS 30000       /* for another gateway in the place of one */
#define PAUSE_MS    200         /* between two looks for one */
#define AWAY_MS     1000        /* after that patience: the next has none */
#define PIECE       (64u << 10)
/* And standard input, and the stream. */
#define FDS_MAX                                                                \
    (MCP_HELD_LINES_MAX + MCP_HELD_URGENT_MAX + MCP_SUBSCRIPTIONS_MAX + 2)

typedef struct pipe_link pipe_link_t;

/* A request under way. */
struct pipe_link {
    net_stream_t stream;
    json_t *message; /* owned; NULL: the line was no JSON */
    char *line;      /* owned */
    size_t size;
    http_reply_t reply;
    mcp_listen_t listen; /* owned; of a request that subscribes */
    unsigned losses;     /* connections that ended before the answer */
    bool was_tried;
    bool was_refused;  /* by TLS, with the files that were read first */
    pipe_link_t *next; /* owned */
};

typedef struct {
    mcp_find_fn *find;
    void *arg;
    mcp_place_t place;
    int64_t away_ms; /* monotonic; when no gateway was found last; 0: never */
    mcp_client_t client;
    mcp_stream_t stream; /* owned; of a client of an older revision */
    buffer_t input;      /* owned; of standard input, not yet a line */
    bool is_ended;       /* standard input has ended */
    pipe_link_t *links;  /* owned */
    size_t count;        /* of them */
    mcp_held_t *held;    /* owned; of the links that were not sent yet */
    mcp_subscriptions_t *subscriptions; /* owned; of the links that subscribe */
} pipe_t;

static void destroy_link(pipe_link_t *link)
{
    net_stream_close(&link->stream);
    json_decref(link->message);
    http_reply_clear(&link->reply);
    mcp_listen_clear(&link->listen);
    free(link->line);
    free(link);
}

static void drop_link(pipe_t *self, pipe_link_t *link)
{
    pipe_link_t **at = &self->links;

    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    self->count--;
    mcp_subscriptions_remove(self->subscriptions, link);
    (void) mcp_held_remove(self->held, link);
    destroy_link(link);
}

static void clear(pipe_t *self)
{
    while (self->links)
        drop_link(self, self->links);
    mcp_subscriptions_destroy(&self->subscriptions);
    mcp_held_destroy(&self->held);
    buffer_reset(&self->input);
    mcp_stream_clear(&self->stream);
    mcp_place_clear(&self->place);
}
#define cleanup_pipe CLEANUP(clear)

/* --- Connections --- */

/* Sends the request to the gateway, which is found anew unless it still serves
 * where it was, or started if it `may_start`. */
static int send_request(pipe_t *self, pipe_link_t *link, bool may_start,
                        fault_t *fault)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    int r;

    net_stream_close(&link->stream);
    http_reply_clear(&link->reply);
    if (!self->place.host || link->was_tried
        || !mcp_place_is_current(&self->place)) {
        mcp_place_clear(&self->place);
        if ((r = self->find(self->arg, may_start, &self->place, fault)) < 0)
            return r;
    }
    link->was_tried = true;
    if ((r = mcp_place_connect(&self->place, &link->stream, fault)) < 0)
        return r;
    mcp_request_write(&self->place, &self->client, link->message, link->line,
                      link->size, &out);
    return net_stream_write(&link->stream, out.data, out.size, fault);
}

/* Waits that long for the end of standard output, which is the client's. */
static bool has_client_gone(int timeout_ms)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, timeout_ms) > 0;
}

/* Returns true if another try may succeed. A handshake that TLS refuses is
 * tried once more, with the files read anew: a certificate may have been
 * renewed. */
static bool may_try_again(pipe_link_t *link, int r)
{
    bool was_refused = link->was_refused;

    if (r == -EINVAL || r == -ETIME)
        return false;
    if (r != -EPROTO)
        return !has_client_gone(PAUSE_MS);
    link->was_refused = true;
    return !was_refused;
}

/* Sends a cancellation to the gateway that runs. If none does, there is no call
 * to cancel, and none is started. The second try finds the gateway anew. */
static void send_cancellation(pipe_t *self, pipe_link_t *link)
{
    fault_t ignored;

    for (int i = 0; i < 2 && link->losses <= LOSSES_MAX; i++)
        if (send_request(self, link, false, &ignored) == 0)
            return;
    drop_link(self, link);
}

/* Returns until when a request is tried (monotonic ms). Those that came while
 * another was tried in vain share its patience, and fail together. */
static int64_t end_of_patience(const pipe_t *self)
{
    int64_t now = clock_monotonic_ms();
    bool is_away = self->away_ms && now - self->away_ms < AWAY_MS;

    return now + (is_away ? 0 : PATIENCE_MS);
}

/* Sends the request. If the gateway has gone, waits for another one for a
 * while. */
static void send_again(pipe_t *self, pipe_link_t *link)
{
    int64_t deadline = end_of_patience(self);
    fault_t fault = {0};
    int r = -1;

    if (mcp_request_is_cancellation(link->message)) {
        send_cancellation(self, link);
        return;
    }
    while (link->losses <= LOSSES_MAX
           && (r = send_request(self, link, true, &fault)) < 0
           && clock_monotonic_ms() < deadline && may_try_again(link, r))
        continue;
    self->away_ms =
        r < 0 && clock_monotonic_ms() >= deadline ? clock_monotonic_ms() : 0;
    if (r == 0)
        return;
    mcp_output_error(link->message, *fault.text
                                        ? fault.text
                                        : "the gateway ends at this request");
    drop_link(self, link);
}

/* --- What the client says --- */

/* Gives up a request that the client cancels. Since 2026-07-28 its connection
 * is closed, which cancels it. Returns true if it was not sent yet, so that the
 * gateway need not hear of it. */
static bool cancel(pipe_t *self, const json_t *message)
{
    const json_t *id =
        json_object_get(json_object_get(message, "params"), "requestId");

    for (pipe_link_t *at = self->links; id && at; at = at->next) {
        bool is_held;

        if (!json_equal(json_object_get(at->message, "id"), id))
            continue;
        is_held = mcp_held_remove(self->held, at);
        if (!is_held && !mcp_request_is_modern(at->message))
            continue;
        drop_link(self, at);
        return is_held;
    }
    return false;
}

/* Returns the number of requests under way for which others wait. Those that
 * subscribe have no end. */
static size_t count_sent(const pipe_t *self)
{
    return self->count - mcp_held_count(self->held)
           - mcp_subscriptions_count(self->subscriptions);
}

/* Returns true if the message may end a request: a cancellation, or the answer
 * to a question. */
static bool is_urgent(const json_t *message)
{
    return mcp_request_is_cancellation(message)
           || !json_object_get(message, "method");
}

/* Has the request wait for its turn, or refuses it if too many do. */
static void hold(pipe_t *self, pipe_link_t *link)
{
    if (mcp_held_add(self->held, link, link->size, is_urgent(link->message)))
        return;
    mcp_output_error(link->message,
                     "busy: 64 requests are under way, and too many wait; "
                     "send it again when one of them has ended");
    drop_link(self, link);
}

/* Sends the requests whose turn has come, the oldest first. */
static void send_held(pipe_t *self)
{
    pipe_link_t *next;

    while ((next = mcp_held_take(self->held, count_sent(self))))
        send_again(self, next);
}

static void add_link(pipe_t *self, json_t *message, const char *line,
                     size_t size)
{
    bool may_go = mcp_listen_is(message)
                  || mcp_held_may_send(count_sent(self), is_urgent(message));
    pipe_link_t *link = mem_new(sizeof *link);

    link->stream = NET_STREAM_CLOSED;
    link->message = message;
    mcp_request_add_key(message);
    link->line = mem_copy(line, size);
    link->size = size;
    link->next = self->links;
    self->links = link;
    self->count++;
    if (mcp_listen_is(message)
        && !mcp_subscriptions_add(self->subscriptions, link, &link->listen)) {
        mcp_output_error(link->message,
                         "64 subscriptions are open; cancel one of them");
        drop_link(self, link);
    } else if (may_go) {
        send_again(self, link);
    } else {
        hold(self, link);
    }
}

static void take_line(pipe_t *self, const char *line, size_t size)
{
    json_t *message = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);

    if (mcp_request_is_cancellation(message) && cancel(self, message))
        json_decref(message);
    else
        add_link(self, message, line, size);
}

static void take_lines(pipe_t *self)
{
    const uint8_t *end;

    while (self->input.size
           && (end = memchr(self->input.data, '\n', self->input.size))) {
        size_t size = (size_t) (end - self->input.data);

        send_held(self);
        if (size)
            take_line(self, (const char *) self->input.data, size);
        buffer_consume(&self->input, size + 1);
    }
    if (!self->is_ended || !self->input.size)
        return;
    /* The last line ends with the input. */
    send_held(self);
    take_line(self, (const char *) self->input.data, self->input.size);
    buffer_clear(&self->input);
}

static int read_input(pipe_t *self, fault_t *fault)
{
    ssize_t got =
        read(STDIN_FILENO, buffer_reserve(&self->input, PIECE), PIECE);

    if (got < 0)
        return errno == EINTR ? 0
                              : fault_set(fault, errno, "standard input: %s",
                                          strerror(errno));
    self->is_ended = got == 0;
    self->input.size += (size_t) got;
    take_lines(self);
    return self->input.size > MESSAGE_MAX
               ? fault_set(fault, EMSGSIZE, "a line has more than 32 MiB")
               : 0;
}

/* --- What the gateway says --- */

/* Notes the revision and the session in the answer to an `initialize`, for
 * later requests. */
static void learn(pipe_t *self, const pipe_link_t *link, const json_t *answer)
{
    const char *method =
        json_string_value(json_object_get(link->message, "method"));
    const char *version = json_string_value(
        json_object_get(json_object_get(answer, "result"), "protocolVersion"));

    if (!method || strcmp(method, "initialize") != 0 || !version)
        return;
    snprintf(self->client.version, sizeof self->client.version, "%s", version);
    snprintf(self->client.session, sizeof self->client.session, "%s",
             link->reply.session);
}

static void write_answer(pipe_link_t *link, const buffer_t *text,
                         const json_t *answer)
{
    cleanup_buffer buffer_t instead = BUFFER_EMPTY;

    if (mcp_listen_take(&link->listen, link->message, answer, &instead))
        mcp_output_lines(instead.data, instead.size);
    else
        mcp_output_message(text->data, text->size);
}

static void pass_on(pipe_t *self, pipe_link_t *link, const buffer_t *text)
{
    json_auto_t *answer =
        json_loadb((const char *) text->data, text->size, 0, NULL);
    const char *refusal = json_string_value(json_object_get(answer, "message"));

    if (json_object_get(answer, "jsonrpc")) {
        learn(self, link, answer);
        if (json_object_get(answer, "result"))
            mcp_stream_note(&self->stream, link->message, answer);
        write_answer(link, text, answer);
    } else if (!link->listen.accepted || !http_reply_is_for_now(&link->reply)) {
        mcp_listen_clear(&link->listen);
        mcp_output_error(link->message,
                         refusal ? refusal
                                 : "the gateway's answer is not valid");
    }
}

/* Closes a stream that has ended and is to be opened again. Returns false if
 * it is not one. */
static bool wait_for_next(pipe_link_t *link)
{
    if (!mcp_listen_lose(&link->listen))
        return false;
    net_stream_close(&link->stream);
    return true;
}

/* Sends a request again whose connection has ended before the answer did. One
 * that subscribes was answered already, and has to wait for its turn. */
static void lose(pipe_t *self, pipe_link_t *link, ssize_t got,
                 const fault_t *fault)
{
    if (wait_for_next(link))
        return;
    if (got == -EPROTO && !may_try_again(link, -EPROTO)) {
        mcp_output_error(link->message, fault->text);
        drop_link(self, link);
        return;
    }
    link->losses++;
    send_again(self, link);
}

/* Takes what a read gives. Returns false if the request is answered, or the
 * connection has ended: then the link may be gone. */
static bool read_piece(pipe_t *self, pipe_link_t *link)
{
    uint8_t bytes[PIECE];
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    fault_t fault = {0};
    ssize_t got = net_stream_read(&link->stream, bytes, sizeof bytes, &fault);

    if (got == -EAGAIN)
        return false;
    if (got <= 0 || http_reply_feed(&link->reply, bytes, (size_t) got) < 0) {
        lose(self, link, got, &fault);
        return false;
    }
    while (http_reply_next(&link->reply, &text)) {
        pass_on(self, link, &text);
        buffer_clear(&text);
    }
    if (!link->reply.is_over)
        return true;
    if (wait_for_next(link))
        return false;
    if (link->reply.status == 202)
        mcp_stream_note(&self->stream, link->message, NULL);
    drop_link(self, link);
    return false;
}

/* Takes also what OpenSSL holds already, because poll does not see it. */
static void read_link(pipe_t *self, pipe_link_t *link)
{
    while (read_piece(self, link) && net_stream_has_more(&link->stream))
        continue;
}

/* --- Requests that subscribe --- */

/* Sends such a request to the gateway that runs; none is started for it. */
static int listen_again(void *arg, void *request)
{
    fault_t ignored;

    return send_request(arg, request, false, &ignored);
}

static void close_stream(void *arg, void *request)
{
    pipe_link_t *link = request;

    (void) arg;
    net_stream_close(&link->stream);
}

static void end_listening(void *arg, void *request)
{
    drop_link(arg, request);
}

static const mcp_subscriptions_ops_t subscriptions_ops = {
    .open = listen_again,
    .close = close_stream,
    .drop = end_listening,
};

/* --- Notifications to a client of an older revision --- */

/* Opens the stream if it is due. No gateway is started for it. */
static void open_stream(pipe_t *self)
{
    cleanup_mcp_place mcp_place_t place = {0};
    fault_t ignored;
    bool is_there;

    if (mcp_stream_wait_ms(&self->stream) != 0)
        return;
    is_there = self->find(self->arg, false, &place, &ignored) == 0;
    mcp_stream_open(&self->stream, is_there ? &place : NULL, &self->client);
}

static void read_stream(pipe_t *self)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    while (mcp_stream_next(&self->stream, &text)) {
        mcp_output_message(text.data, text.size);
        buffer_clear(&text);
    }
}

/* Ends the client at its gateway, if that has given it a session. */
static void end_client(pipe_t *self)
{
    cleanup_mcp_place mcp_place_t place = {0};
    fault_t ignored;

    if (*self->client.session
        && self->find(self->arg, false, &place, &ignored) == 0)
        mcp_stream_end(&self->stream, &place, &self->client);
}

/* --- The loop --- */

static pipe_link_t *link_of(const pipe_t *self, int fd)
{
    for (pipe_link_t *at = self->links; at; at = at->next)
        if (at->stream.fd == fd)
            return at;
    return NULL;
}

/* Sets what is waited for: standard input, the stream of notifications, then
 * the requests under way. Returns their number. */
static size_t list_all(const pipe_t *self, struct pollfd fds[FDS_MAX])
{
    size_t count = 0;

    fds[count++] = (struct pollfd){.fd = self->is_ended ? -1 : STDIN_FILENO,
                                   .events = POLLIN};
    fds[count++] =
        (struct pollfd){.fd = self->stream.stream.fd, .events = POLLIN};
    for (const pipe_link_t *at = self->links; at && count < FDS_MAX;
         at = at->next)
        if (at->stream.fd >= 0)
            fds[count++] =
                (struct pollfd){.fd = at->stream.fd, .events = POLLIN};
    return count;
}

/* Returns the milliseconds until something is due; -1: nothing is. */
static int wait_ms(const pipe_t *self)
{
    int stream = mcp_stream_wait_ms(&self->stream);
    int next = mcp_subscriptions_wait_ms(self->subscriptions);

    return next >= 0 && (stream < 0 || next < stream) ? next : stream;
}

static int turn(pipe_t *self, fault_t *fault)
{
    struct pollfd fds[FDS_MAX];
    size_t count;
    int r;

    open_stream(self);
    mcp_subscriptions_open(self->subscriptions);
    count = list_all(self, fds);
    if (poll(fds, count, wait_ms(self)) < 0)
        return errno == EINTR
                   ? 0
                   : fault_set(fault, errno, "poll: %s", strerror(errno));
    for (size_t i = 2; i < count; i++) {
        pipe_link_t *link = fds[i].revents ? link_of(self, fds[i].fd) : NULL;
        if (link)
            read_link(self, link);
    }
    if (fds[1].revents)
        read_stream(self);
    send_held(self);
    if (fds[0].revents && (r = read_input(self, fault)) < 0)
        return r;
    if (self->is_ended)
        mcp_subscriptions_end(self->subscriptions);
    return 0;
}

int mcp_pipe_run(mcp_find_fn *find, void *arg, fault_t *fault)
{
    cleanup_pipe pipe_t self = {
        .find = find, .arg = arg, .stream = MCP_STREAM_CLOSED};
    int r = 0;

    self.subscriptions = mcp_subscriptions_new(&subscriptions_ops, &self);
    self.held = mcp_held_new();
    signal(SIGPIPE, SIG_IGN); /* of a gateway that is killed */
    while (r == 0 && (!self.is_ended || self.links) && !has_client_gone(0))
        r = turn(&self, fault);
    end_client(&self);
    return r;
}
