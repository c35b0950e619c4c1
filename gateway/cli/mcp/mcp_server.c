/* See mcp_server.h. The server is a process group of its own: it ends with what
 * it has started, and a terminal's interrupt does not reach it. */
#include "gateway/cli/mcp/mcp_server.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/mcp/mcp_unread.h"
#include "protocol/jspan_write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS    30000       /* until its tools are known */
#define LOOK_MS     500         /* between two looks for a signal */
#define WRITE_MS    5000        /* how long a message may wait to be read */
#define STOP_MS     500         /* to end by itself */
#define MESSAGE_MAX (32u << 20) /* bytes of a message */
#define PAGES_MAX   64
#define SAID_WIDTH  200 /* characters of an error that it answers */
#define PIECE       (64u << 10)

extern char **environ;

struct mcp_server {
    const char *const *argv;                  /* borrowed */
    const char *name;                         /* borrowed; for faults */
    const volatile sig_atomic_t *interrupted; /* borrowed */
    pid_t pid;                                /* 0: it does not run */
    int input;                                /* its standard input; -1 if it
                                                 does not run */
    int output;                               /* its standard output */
    buffer_t said;                            /* owned; not yet a line */
    size_t looked; /* bytes of it that have no end of a line */
    int64_t last_id;
    int64_t start_until_ms; /* when its tools must be known */
    bool is_unread;         /* the last answer could not be read */
};

mcp_server_t *mcp_server_new(const char *const *argv, const char *name,
                             const volatile sig_atomic_t *interrupted)
{
    mcp_server_t *self = mem_new(sizeof *self);

    self->argv = argv;
    self->name = name;
    self->interrupted = interrupted;
    self->input = self->output = -1;
    return self;
}

void mcp_server_destroy(mcp_server_t **self_p)
{
    mcp_server_t *self = *self_p;

    if (!self)
        return;
    mcp_server_stop(self);
    buffer_reset(&self->said);
    free(self);
    *self_p = NULL;
}

bool mcp_server_is_running(const mcp_server_t *self)
{
    return self->pid > 0;
}

/* ---- the process ---- */

static int spawn(mcp_server_t *self, int input, int output, fault_t *fault)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    int code;

    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    code = posix_spawnp(&self->pid, self->argv[0], &actions, &attributes,
                        (char *const *) (uintptr_t) self->argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (!code)
        return 0;
    self->pid = 0;
    return fault_set(fault, code, "%s: %s", self->argv[0], strerror(code));
}

static int start_process(mcp_server_t *self, fault_t *fault)
{
    cleanup_fd int its_input = -1;
    cleanup_fd int its_output = -1;
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "pipe: %s", strerror(errno));
    its_input = in[0];
    self->input = in[1];
    if (pipe2(out, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "pipe: %s", strerror(errno));
    its_output = out[1];
    self->output = out[0];
    if (fcntl(self->input, F_SETFL, O_NONBLOCK) < 0
        || fcntl(self->output, F_SETFL, O_NONBLOCK) < 0)
        return fault_set(fault, errno, "fcntl: %s", strerror(errno));
    return spawn(self, its_input, its_output, fault);
}

/* Waits a moment for the end of its output, which comes with its end. */
static void await_end(const mcp_server_t *self)
{
    int64_t deadline = clock_monotonic_ms() + STOP_MS;
    int64_t left;
    uint8_t rest[PIECE];

    while ((left = deadline - clock_monotonic_ms()) > 0) {
        struct pollfd look = {self->output, POLLIN, 0};

        if (poll(&look, 1, (int) left) > 0
            && read(self->output, rest, sizeof rest) <= 0)
            return;
    }
}

/* Stops the server. Its group is killed before it is waited for: until then the
 * number is its. */
void mcp_server_stop(mcp_server_t *self)
{
    if (self->input >= 0)
        close(self->input);
    if (self->pid) {
        await_end(self);
        kill(-self->pid, SIGKILL);
        while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (self->output >= 0)
        close(self->output);
    self->input = self->output = -1;
    self->pid = 0;
    buffer_clear(&self->said);
    self->looked = 0;
}

/* Stops the server, and sets the fault to why it is of no use any more. */
static int give_up(mcp_server_t *self, fault_t *fault, const char *why)
{
    mcp_server_stop(self);
    return fault_set(fault, EPIPE, "the server %s %s", self->name, why);
}

/* ---- messages ---- */

static int read_more(mcp_server_t *self, fault_t *fault)
{
    ssize_t got = read(self->output, buffer_reserve(&self->said, PIECE), PIECE);

    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (got <= 0)
        return give_up(self, fault, "has ended");
    self->said.size += (size_t) got;
    if (self->said.size > 2 * (size_t) MESSAGE_MAX)
        return give_up(self, fault, "says more than 32 MiB in a message");
    return 0;
}

/* Reads its output meanwhile: it may wait for that before it reads. */
static int write_all(mcp_server_t *self, const buffer_t *text, fault_t *fault)
{
    int64_t deadline = clock_monotonic_ms() + WRITE_MS;
    size_t done = 0;

    while (done < text->size) {
        struct pollfd fds[] = {{self->input, POLLOUT, 0},
                               {self->output, POLLIN, 0}};
        ssize_t sent;

        if (clock_monotonic_ms() > deadline)
            return give_up(self, fault, "did not read a message in 5 s");
        if (poll(fds, 2, 100) > 0 && fds[1].revents
            && read_more(self, fault) < 0)
            return -EPIPE;
        sent = write(self->input, text->data + done, text->size - done);
        if (sent > 0)
            done += (size_t) sent;
        else if (sent < 0 && errno != EINTR && errno != EAGAIN)
            return give_up(self, fault, "has ended");
    }
    return 0;
}

static int write_message(mcp_server_t *self, const char *method, int64_t id,
                         bytes_t params, fault_t *fault)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    if (!self->pid)
        return fault_set(fault, EPIPE, "the server %s does not run",
                         self->name);
    jspan_write_begin(&out);
    jspan_write_text(&out, "jsonrpc", "2.0");
    if (id)
        jspan_write_integer(&out, "id", id);
    jspan_write_text(&out, "method", method);
    jspan_write_raw(&out, "params", params);
    jspan_write_end(&out);
    buffer_text(&out, "\n");
    return write_all(self, &out, fault);
}

int mcp_server_send(mcp_server_t *self, const char *method, bytes_t params,
                    int64_t *ret_id, fault_t *fault)
{
    *ret_id = ++self->last_id;
    return write_message(self, method, *ret_id, params, fault);
}

int mcp_server_cancel(mcp_server_t *self, int64_t id, fault_t *fault)
{
    cleanup_buffer buffer_t params = BUFFER_EMPTY;

    jspan_write_begin(&params);
    jspan_write_integer(&params, "requestId", id);
    jspan_write_text(&params, "reason", "its time is over");
    jspan_write_end(&params);
    return write_message(self, "notifications/cancelled", 0,
                         buffer_bytes(&params), fault);
}

/* Takes a line out of its output. Returns false without a whole line. */
static bool take_line(mcp_server_t *self, buffer_t *line)
{
    const uint8_t *end = self->said.size > self->looked
                             ? memchr(self->said.data + self->looked, '\n',
                                      self->said.size - self->looked)
                             : NULL;

    buffer_clear(line);
    if (!end) {
        self->looked = self->said.size;
        return false;
    }
    buffer_append(line, self->said.data, (size_t) (end - self->said.data));
    buffer_consume(&self->said, line->size + 1);
    self->looked = 0;
    return true;
}

/* Answers a request of the server, of which only `ping` is known. */
static int answer_request(mcp_server_t *self, jspan_t message, fault_t *fault)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    jspan_t id = jspan_member(message, "id");

    jspan_write_begin(&out);
    jspan_write_text(&out, "jsonrpc", "2.0");
    jspan_write_raw(&out, "id", (bytes_t){id.text, id.size});
    if (jspan_text_equals(jspan_member(message, "method"), "ping")) {
        jspan_write_object(&out, "result");
    } else {
        jspan_write_object(&out, "error");
        jspan_write_integer(&out, "code", -32601);
        jspan_write_text(&out, "message", "the client has no such method");
    }
    jspan_write_end(&out);
    jspan_write_end(&out);
    buffer_text(&out, "\n");
    return write_all(self, &out, fault);
}

/* Puts an error into the place of an answer that cannot be read. Returns 1, or
 * 0 if the line is no answer. */
static int read_unread(mcp_server_t *self, const fault_t *why, buffer_t *line,
                       jspan_t *ret_answer)
{
    cleanup_free char *said = NULL;
    fault_t ignored;
    int64_t id;

    if (!mcp_unread_id(line, &id))
        return 0;
    said = mem_format("the server %s sends an answer that cannot be read: %s",
                      terminal_cell(self->name, SAID_WIDTH), why->text);
    buffer_clear(line);
    jspan_write_begin(line);
    jspan_write_integer(line, "id", id);
    jspan_write_object(line, "error");
    jspan_write_text(line, "message", said);
    jspan_write_end(line);
    jspan_write_end(line);
    self->is_unread = true;
    return jspan_check(line->data, line->size, ret_answer, &ignored) == 0;
}

/* Reads a line. Lines that are no messages are passed over: a program may print
 * what is meant for people. */
static int read_line(mcp_server_t *self, buffer_t *line, jspan_t *ret_answer,
                     fault_t *fault)
{
    fault_t why;

    self->is_unread = false;
    if (jspan_check_portable(line->data, line->size, ret_answer, &why) < 0)
        return read_unread(self, &why, line, ret_answer);
    if (!jspan_is(*ret_answer, JSPAN_OBJECT)
        || jspan_is(jspan_member(*ret_answer, "id"), JSPAN_ABSENT))
        return 0;
    if (jspan_is(jspan_member(*ret_answer, "method"), JSPAN_ABSENT))
        return 1;
    return answer_request(self, *ret_answer, fault);
}

int mcp_server_next(mcp_server_t *self, int timeout_ms, buffer_t *line,
                    jspan_t *ret_answer, fault_t *fault)
{
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    int r;

    for (;;) {
        int64_t left = deadline - clock_monotonic_ms();
        struct pollfd look = {self->output, POLLIN, 0};

        if (!self->pid)
            return fault_set(fault, EPIPE, "the server %s does not run",
                             self->name);
        while (take_line(self, line))
            if ((r = read_line(self, line, ret_answer, fault)) != 0)
                return r;
        if (poll(&look, 1, left > 0 ? (int) left : 0) <= 0)
            return 0;
        if ((r = read_more(self, fault)) < 0)
            return r;
    }
}

/* ---- the beginning ---- */

/* Sets the fault to what the server says in place of a result. */
static int refuse(mcp_server_t *self, jspan_t answer, fault_t *fault)
{
    cleanup_free char *said =
        jspan_text_new(jspan_member(jspan_member(answer, "error"), "message"));

    if (!said || !*said)
        return give_up(self, fault, "refuses what every server must answer");
    mcp_server_stop(self);
    return self->is_unread
               ? fault_set(fault, EPIPE, "%s", said)
               : fault_set(fault, EPIPE, "the server %s: %s", self->name,
                           terminal_cell(said, SAID_WIDTH));
}

/* Sends a request and waits for its result, which lies in `line`. */
static int ask(mcp_server_t *self, const char *method, bytes_t params,
               buffer_t *line, jspan_t *ret_result, fault_t *fault)
{
    int64_t id, answered = 0;
    jspan_t answer;
    int r = mcp_server_send(self, method, params, &id, fault);

    while (r == 0 && answered != id) {
        int64_t left = self->start_until_ms - clock_monotonic_ms();

        if (left <= 0)
            return give_up(self, fault, "did not name its tools in 30 s");
        if (*self->interrupted)
            return give_up(self, fault, "is not waited for");
        r = mcp_server_next(self, left < LOOK_MS ? (int) left : LOOK_MS, line,
                            &answer, fault);
        if (r > 0) {
            (void) jspan_to_integer(jspan_member(answer, "id"), &answered);
            r = 0;
        }
    }
    if (r < 0)
        return r;
    *ret_result = jspan_member(answer, "result");
    return jspan_is(*ret_result, JSPAN_OBJECT) ? 0
                                               : refuse(self, answer, fault);
}

/* Appends its tools, page by page. */
static int list_tools(mcp_server_t *self, buffer_t *ret_pages, fault_t *fault)
{
    cleanup_buffer buffer_t params = BUFFER_EMPTY;
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    jspan_t result, tools, cursor;

    buffer_text(&params, "{}");
    for (int i = 0; i < PAGES_MAX; i++) {
        int r = ask(self, "tools/list", buffer_bytes(&params), &line, &result,
                    fault);

        if (r < 0)
            return r;
        tools = jspan_member(result, "tools");
        cursor = jspan_member(result, "nextCursor");
        if (!jspan_is(tools, JSPAN_ARRAY))
            return give_up(self, fault, "its list of tools is not an array");
        buffer_append(ret_pages, tools.text, tools.size);
        buffer_text(ret_pages, "\n");
        if (ret_pages->size > MESSAGE_MAX)
            break;
        if (!jspan_is(cursor, JSPAN_STRING))
            return 0;
        buffer_clear(&params);
        jspan_write_begin(&params);
        jspan_write_raw(&params, "cursor", (bytes_t){cursor.text, cursor.size});
        jspan_write_end(&params);
    }
    return give_up(self, fault, "lists tools without end");
}

static void write_hello(buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_text(out, "protocolVersion", "2025-11-25");
    jspan_write_object(out, "capabilities");
    jspan_write_end(out);
    jspan_write_object(out, "clientInfo");
    jspan_write_text(out, "name", "hearth");
    jspan_write_text(out, "version", "1");
    jspan_write_end(out);
    jspan_write_end(out);
}

int mcp_server_start(mcp_server_t *self, buffer_t *ret_pages, fault_t *fault)
{
    cleanup_buffer buffer_t hello = BUFFER_EMPTY, line = BUFFER_EMPTY;
    jspan_t result;
    int r;

    write_hello(&hello);
    mcp_server_stop(self);
    self->start_until_ms = clock_monotonic_ms() + START_MS;
    r = start_process(self, fault);
    if (r == 0)
        r = ask(self, "initialize", buffer_bytes(&hello), &line, &result,
                fault);
    if (r == 0)
        r = write_message(self, "notifications/initialized", 0,
                          text_bytes("{}"), fault);
    if (r == 0)
        r = list_tools(self, ret_pages, fault);
    if (r < 0)
        mcp_server_stop(self);
    return r;
}
