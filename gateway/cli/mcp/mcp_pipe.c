/* See mcp_pipe.h. One thread and one poll: standard input, and a connection
 * for each request under way. Connecting and writing wait. */
#include "gateway/cli/mcp/mcp_pipe.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/cli/client/http_reply.h"
#include "gateway/cli/client/net_stream.h"
#include "gateway/cli/mcp/mcp_request.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LINES_MAX   64          /* requests under way; more wait in the pipe */
#define MESSAGE_MAX (32u << 20) /* bytes of a message */
#define LOSSES_MAX  2           /* gateways that end under a request */
#define PATIENCE_MS 30000       /* for another gateway in the place of one */
#define PAUSE_MS    200         /* between two looks for one */
#define PIECE       (64u << 10)

typedef struct link link_t;

/* A request under way. */
struct link {
    net_stream_t stream;
    json_t *message; /* owned; NULL: the line was no JSON */
    char *line;      /* owned */
    size_t size;
    http_reply_t reply;
    unsigned losses; /* connections that ended before the answer */
    bool was_tried;
    bool was_refused; /* by TLS, with the files that were read first */
    link_t *next;     /* owned */
};

typedef struct {
    mcp_find_fn *find;
    void *arg;
    mcp_place_t place;
    mcp_client_t client;
    buffer_t input; /* owned; of standard input, not yet a line */
    bool is_ended;  /* standard input has ended */
    link_t *links;  /* owned */
    size_t count;   /* of them */
} pipe_t;

static void destroy_link(link_t *link)
{
    net_stream_close(&link->stream);
    json_decref(link->message);
    http_reply_clear(&link->reply);
    free(link->line);
    free(link);
}

static void drop_link(pipe_t *self, link_t *link)
{
    link_t **at = &self->links;

    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    self->count--;
    destroy_link(link);
}

static void clear(pipe_t *self)
{
    while (self->links)
        drop_link(self, self->links);
    buffer_reset(&self->input);
    mcp_place_clear(&self->place);
}
#define cleanup_pipe CLEANUP(clear)

/* --- Output --- */

static int write_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size) {
        ssize_t sent = write(fd, at, size);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -errno;
        at += sent;
        size -= (size_t) sent;
    }
    return 0;
}

static void write_line(const void *bytes, size_t size)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;

    buffer_append(&line, bytes, size);
    buffer_text(&line, "\n");
    (void) write_all(STDOUT_FILENO, line.data, line.size);
}

/* A request that has no answer of the protocol gets one. */
static void fail_request(const link_t *link, const char *text)
{
    json_t *id = json_object_get(link->message, "id");

    if (!id || !json_object_get(link->message, "method"))
        return;
    json_auto_t *answer =
        json_pack("{s:s,s:O,s:{s:i,s:s}}", "jsonrpc", "2.0", "id", id, "error",
                  "code", -32603, "message", text);
    cleanup_free char *dumped = json_dumps(answer, JSON_COMPACT);
    write_line(dumped, strlen(dumped));
}

/* --- Connections --- */

/* Finds the gateway anew and sends the request to it. */
static int send_request(pipe_t *self, link_t *link, fault_t *fault)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    int r;

    net_stream_close(&link->stream);
    http_reply_clear(&link->reply);
    if (!self->place.host || link->was_tried) {
        mcp_place_clear(&self->place);
        if ((r = self->find(self->arg, &self->place, fault)) < 0)
            return r;
    }
    link->was_tried = true;
    r = net_stream_open(&link->stream, self->place.host, self->place.port,
                        self->place.trust, fault);
    if (r < 0)
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
static bool may_try_again(link_t *link, int r)
{
    bool was_refused = link->was_refused;

    if (r == -EINVAL || r == -ETIME)
        return false;
    if (r != -EPROTO)
        return !has_client_gone(PAUSE_MS);
    link->was_refused = true;
    return !was_refused;
}

/* Sends the request. If the gateway has gone, waits for another one for a
 * while. */
static void send_again(pipe_t *self, link_t *link)
{
    int64_t deadline = clock_monotonic_ms() + PATIENCE_MS;
    fault_t fault = {0};
    int r = -1;

    while (link->losses <= LOSSES_MAX
           && (r = send_request(self, link, &fault)) < 0
           && clock_monotonic_ms() < deadline && may_try_again(link, r))
        continue;
    if (r == 0)
        return;
    fail_request(link,
                 *fault.text ? fault.text : "the gateway ends at this request");
    drop_link(self, link);
}

/* --- What the client says --- */

/* A request that the client gives up: its connection closes, which cancels it
 * since 2026-07-28. */
static void cancel(pipe_t *self, const json_t *message)
{
    const json_t *id =
        json_object_get(json_object_get(message, "params"), "requestId");

    for (link_t *at = self->links; id && at; at = at->next) {
        if (!json_equal(json_object_get(at->message, "id"), id)
            || !mcp_request_is_modern(at->message))
            continue;
        drop_link(self, at);
        return;
    }
}

static void take_line(pipe_t *self, const char *line, size_t size)
{
    json_t *message = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    const char *method = json_string_value(json_object_get(message, "method"));
    link_t *link = mem_new(sizeof *link);

    if (method && strcmp(method, "notifications/cancelled") == 0)
        cancel(self, message);
    link->stream = NET_STREAM_CLOSED;
    link->message = message;
    mcp_request_add_key(message);
    link->line = mem_copy(line, size);
    link->size = size;
    link->next = self->links;
    self->links = link;
    self->count++;
    send_again(self, link);
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
    for (;;) {
        const uint8_t *end =
            self->input.size ? memchr(self->input.data, '\n', self->input.size)
                             : NULL;
        if (!end)
            break;
        size_t size = (size_t) (end - self->input.data);
        if (size)
            take_line(self, (const char *) self->input.data, size);
        buffer_consume(&self->input, size + 1);
    }
    return self->input.size > MESSAGE_MAX
               ? fault_set(fault, EMSGSIZE, "a line has more than 32 MiB")
               : 0;
}

/* --- What the gateway says --- */

/* Notes the revision and the session in the answer to an `initialize`, for
 * later requests. Returns false if it is another answer. */
static bool learn(pipe_t *self, const link_t *link, const json_t *answer)
{
    const char *method =
        json_string_value(json_object_get(link->message, "method"));
    const char *version = json_string_value(
        json_object_get(json_object_get(answer, "result"), "protocolVersion"));

    if (!method || strcmp(method, "initialize") != 0 || !version)
        return false;
    snprintf(self->client.version, sizeof self->client.version, "%s", version);
    snprintf(self->client.session, sizeof self->client.session, "%s",
             link->reply.session);
    return true;
}

/* Takes back what the gateway offers by `initialize` to clients that open a
 * stream by GET, because this program opens none. Returns true if the answer
 * has changed. */
static bool correct(json_t *answer)
{
    json_t *resources = json_object_get(
        json_object_get(json_object_get(answer, "result"), "capabilities"),
        "resources");

    if (!json_is_object(resources))
        return false;
    json_object_set_new(resources, "subscribe", json_false());
    json_object_set_new(resources, "listChanged", json_false());
    return true;
}

static void pass_on(pipe_t *self, const link_t *link, const buffer_t *text)
{
    json_auto_t *answer =
        json_loadb((const char *) text->data, text->size, 0, NULL);
    const char *refusal = json_string_value(json_object_get(answer, "message"));

    if (json_object_get(answer, "jsonrpc")) {
        bool is_first = learn(self, link, answer);
        cleanup_free char *corrected = is_first && correct(answer)
                                           ? json_dumps(answer, JSON_COMPACT)
                                           : NULL;
        if (corrected)
            write_line(corrected, strlen(corrected));
        else
            write_line(text->data, text->size);
    } else {
        fail_request(link,
                     refusal ? refusal : "the gateway's answer is not valid");
    }
}

/* The connection has ended before the answer did. */
static void lose(pipe_t *self, link_t *link, ssize_t got, const fault_t *fault)
{
    if (got == -EPROTO && !may_try_again(link, -EPROTO)) {
        fail_request(link, fault->text);
        drop_link(self, link);
        return;
    }
    link->losses++;
    send_again(self, link);
}

/* Takes what a read gives. Returns false if the request is answered, or the
 * connection has ended: then the link may be gone. */
static bool read_piece(pipe_t *self, link_t *link)
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
    drop_link(self, link);
    return false;
}

/* Takes also what OpenSSL holds already, because poll does not see it. */
static void read_link(pipe_t *self, link_t *link)
{
    while (read_piece(self, link) && net_stream_has_more(&link->stream))
        continue;
}

/* --- The loop --- */

static link_t *link_of(const pipe_t *self, int fd)
{
    for (link_t *at = self->links; at; at = at->next)
        if (at->stream.fd == fd)
            return at;
    return NULL;
}

static int turn(pipe_t *self, fault_t *fault)
{
    struct pollfd fds[LINES_MAX + 1] = {{.fd = -1, .events = POLLIN}};
    size_t count = 1;

    if (!self->is_ended && self->count < LINES_MAX)
        fds[0].fd = STDIN_FILENO;
    for (const link_t *at = self->links; at && count <= LINES_MAX;
         at = at->next)
        fds[count++] = (struct pollfd){.fd = at->stream.fd, .events = POLLIN};
    if (poll(fds, count, -1) < 0)
        return errno == EINTR
                   ? 0
                   : fault_set(fault, errno, "poll: %s", strerror(errno));
    for (size_t i = 1; i < count; i++) {
        link_t *link = fds[i].revents ? link_of(self, fds[i].fd) : NULL;
        if (link)
            read_link(self, link);
    }
    return fds[0].revents ? read_input(self, fault) : 0;
}

int mcp_pipe_run(mcp_find_fn *find, void *arg, fault_t *fault)
{
    cleanup_pipe pipe_t self = {.find = find, .arg = arg};
    int r = 0;

    signal(SIGPIPE, SIG_IGN); /* of a gateway that is killed */
    while (r == 0 && (!self.is_ended || self.links) && !has_client_gone(0))
        r = turn(&self, fault);
    return r;
}
