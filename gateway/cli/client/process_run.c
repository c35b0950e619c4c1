/* See process_run.h. One loop: standard input goes to the process as far as it
 * takes it, its output is written as far as it is taken here. Output that was
 * not written is not acknowledged, so a slow reader slows down the process and
 * nothing is lost. */
#include "gateway/cli/client/process_run.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/process_client.h"
#include "gateway/cli/core/command.h"
#include "gateway/cli/core/raw_terminal.h"
#include "gateway/cli/core/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS       200   /* a signal is noticed at the latest then */
#define ALIVE_MS      5000  /* the session hears from this side */
#define NO_GATEWAY_MS 30000 /* how long a gateway may be away */
#define START_MS      60000 /* how long a process may take to start */
#define INPUT_PIECE   (16u << 10)
#define INPUT_WINDOW  (128u << 10) /* sent, and not taken by the process */
#define OUTPUT_PIECE  4096 /* a pipe that takes something takes it all */
#define INTERRUPTS    3    /* the third Ctrl-C leaves */

typedef struct {
    process_client_t *client; /* owned */
    uint64_t number;          /* of the process; 0: not started */
    json_t *ended;            /* owned; how it ended, or NULL */
    raw_terminal_t *raw;    /* owned; the program has this terminal, or NULL */
    terminal_t *screens[2]; /* owned; for output that is a terminal */
    buffer_t waiting[2];    /* output that is not written yet */
    bool is_broken[2];      /* its reader has gone */
    uint64_t seen;          /* offset of the next byte of output */
    uint64_t confirmed;     /* offset up to which the session knows that the
                               output was written */
    uint64_t input_sent, input_taken;
    bool has_input;  /* standard input is not at its end */
    int64_t started; /* monotonic ms */
    int64_t said;    /* the last message to the session */
    int64_t heard;   /* the last one from it */
    int64_t asked;   /* when this side last followed anew */
    bool is_over;
    int status; /* when it is over without an end */
} run_t;

/* Set by the handler, read by the loop. */
static volatile sig_atomic_t signals[NSIG];
static volatile sig_atomic_t pending;

static void on_signal(int number)
{
    signals[number]++;
    pending = 1;
}

static void run_clear(run_t *self)
{
    raw_terminal_destroy(&self->raw);
    for (int i = 0; i < 2; i++) {
        terminal_destroy(&self->screens[i]);
        buffer_reset(&self->waiting[i]);
    }
    json_decref(self->ended);
    process_client_destroy(&self->client);
}

static void finish(run_t *self, int status)
{
    self->is_over = true;
    self->status = status;
}

static json_t *of_process(const run_t *self)
{
    return json_pack("{s:I}", "process", (json_int_t) self->number);
}

static void say(run_t *self, const char *verb, json_t *content, bytes_t data)
{
    self->said = clock_monotonic_ms();
    process_client_send(self->client, verb, content, data);
}

/* ---- output ---- */

/* All of it: a terminal that is stopped stops this side, too. */
static void write_raw(run_t *self, buffer_t *waiting)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t ignored;

    raw_terminal_filter(self->raw, buffer_bytes(waiting), &out);
    if (out.size)
        (void) fd_write_all(STDOUT_FILENO, out.data, out.size, &ignored);
    buffer_clear(waiting);
}

static void write_some(run_t *self, int which)
{
    buffer_t *waiting = &self->waiting[which];
    size_t size = waiting->size < OUTPUT_PIECE ? waiting->size : OUTPUT_PIECE;
    ssize_t written;

    if (self->raw) {
        write_raw(self, waiting);
        return;
    }
    if (terminal_is_tty(self->screens[which])) {
        terminal_colored(self->screens[which], (const char *) waiting->data,
                         waiting->size);
        fflush(which ? stderr : stdout);
        buffer_clear(waiting);
        return;
    }
    written = write(which ? STDERR_FILENO : STDOUT_FILENO, waiting->data, size);
    if (written >= 0)
        buffer_consume(waiting, (size_t) written);
    else if (errno != EAGAIN && errno != EINTR) {
        self->is_broken[which] = true;
        buffer_clear(waiting);
    }
}

/* Reports to the session how much was written, when it is worth it. */
static void acknowledge(run_t *self)
{
    uint64_t done = self->seen - self->waiting[0].size - self->waiting[1].size;
    json_t *content;

    if (!self->number
        || (done - self->confirmed < INPUT_PIECE
            && clock_monotonic_ms() - self->said < ALIVE_MS))
        return;
    self->confirmed = done;
    content = of_process(self);
    json_object_set_new(content, "offset", json_integer((json_int_t) done));
    say(self, "taken", content, (bytes_t){0});
}

static void on_output(run_t *self, const process_news_t *news)
{
    bytes_t bytes = message_buffer_count(news->message)
                        ? message_buffer(news->message, 0)
                        : (bytes_t){0};
    uint64_t offset =
        (uint64_t) json_integer_value(json_object_get(news->content, "offset"));
    int which = strcmp(member_text(news->content, "stream"), "stderr") == 0;

    if (offset > self->seen && self->seen > 0)
        complain(GATEWAY_EXIT_FAILED,
                 "%" PRIu64 " bytes of output were not received: this command "
                 "was stopped, or no gateway ran",
                 offset - self->seen);
    if (offset + bytes.size <= self->seen)
        return;
    if (offset < self->seen) {
        size_t known = (size_t) (self->seen - offset);

        bytes =
            (bytes_t){(const char *) bytes.bytes + known, bytes.size - known};
        offset = self->seen;
    }
    self->seen = offset + bytes.size;
    if (!self->is_broken[which])
        buffer_append(&self->waiting[which], bytes.bytes, bytes.size);
}

/* ---- input ---- */

static bool may_send(const run_t *self)
{
    return self->has_input && self->number && !self->ended
           && self->input_sent - self->input_taken < INPUT_WINDOW;
}

/* Leaves the program alone, which goes on. */
static void leave(run_t *self, int status)
{
    raw_terminal_destroy(&self->raw);
    complain(GATEWAY_EXIT_FAILED,
             "leaving; process %" PRIu64 " goes on ('hearth kill %s %" PRIu64
             "' ends it)",
             self->number, process_client_session(self->client), self->number);
    finish(self, status);
}

static void read_input(run_t *self)
{
    char bytes[INPUT_PIECE];
    ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
    json_t *content;

    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (self->raw && size > 0
        && memchr(bytes, RAW_TERMINAL_LEAVE, (size_t) size)) {
        leave(self, GATEWAY_EXIT_OK);
        return;
    }
    content = of_process(self);
    if (size <= 0) {
        self->has_input = false;
        json_object_set_new(content, "end", json_true());
        size = 0;
    }
    self->input_sent += (uint64_t) size;
    say(self, "input_request", content, (bytes_t){bytes, (size_t) size});
}

static void note_taken(run_t *self, const json_t *content)
{
    const json_t *taken = json_object_get(content, "input_taken");

    if (json_is_integer(taken))
        self->input_taken = (uint64_t) json_integer_value(taken);
    if (self->input_sent < self->input_taken)
        self->input_sent = self->input_taken;
}

/* ---- messages ---- */

static bool is_ok(const process_news_t *news)
{
    return strcmp(member_text(news->content, "status"), "ok") == 0;
}

static void on_started(run_t *self, const process_news_t *news)
{
    const json_t *process = json_object_get(news->content, "process");
    const char *end = member_text(news->content, "evalue");

    if (is_ok(news)) {
        self->number =
            (uint64_t) json_integer_value(json_object_get(process, "process"));
        return;
    }
    process_client_complain(news->content);
    if (strcmp(member_text(news->content, "ename"), "ProcessNotStarted") != 0)
        finish(self, GATEWAY_EXIT_FAILED);
    else
        finish(self, strstr(end, "the program: No such file")
                         ? PROCESS_RUN_NO_PROGRAM
                         : PROCESS_RUN_CANNOT_START);
}

/* Another gateway serves the session, or this one has forgotten this client. */
static void on_attached(run_t *self, const process_news_t *news)
{
    if (is_ok(news)) {
        self->input_taken = self->input_sent;
        note_taken(self, news->content);
    } else if (strcmp(member_text(news->content, "ename"), "SessionStarting")
               != 0) {
        finish(self, process_client_complain(news->content));
    }
}

static void on_news(run_t *self, const process_news_t *news)
{
    const char *type = message_type(news->message);

    self->heard = clock_monotonic_ms();
    if (strcmp(type, "process_output") == 0)
        on_output(self, news);
    else if (strcmp(type, "process_input_taken") == 0)
        note_taken(self, news->content);
    else if (strcmp(type, "process_start_reply") == 0)
        on_started(self, news);
    else if (strcmp(type, "process_attach_reply") == 0)
        on_attached(self, news);
    else if (strcmp(type, "process_ended") == 0 && !self->ended)
        self->ended = json_incref(news->content);
    else if (!is_ok(news)
             && strcmp(member_text(news->content, "ename"), "SessionGone") == 0)
        finish(self, process_client_complain(news->content));
}

/* ---- the loop ---- */

static void resize(run_t *self)
{
    unsigned rows, columns;
    json_t *content;

    if (!self->raw || !self->number || !raw_terminal_size(&rows, &columns))
        return;
    content = of_process(self);
    json_object_set_new(content, "rows", json_integer(rows));
    json_object_set_new(content, "columns", json_integer(columns));
    say(self, "resize_request", content, (bytes_t){0});
}

static void pass_signal(run_t *self, int number, int *handled)
{
    json_t *content;

    *handled = signals[number];
    if (number == SIGWINCH) {
        resize(self);
        return;
    }
    if (!self->number) {
        finish(self, 128 + number);
        return;
    }
    if (*handled >= INTERRUPTS) {
        leave(self, 128 + number);
        return;
    }
    content = of_process(self);
    json_object_set_new(content, "signal", json_integer(number));
    say(self, "signal_request", content, (bytes_t){0});
}

static void pass_signals(run_t *self, int handled[NSIG])
{
    pending = 0;
    for (int number = 1; number < NSIG; number++)
        if (signals[number] != handled[number])
            pass_signal(self, number, &handled[number]);
}

static bool has_output(const run_t *self)
{
    return self->waiting[0].size || self->waiting[1].size;
}

/* Follows anew if no message came for a while: another gateway may serve the
 * session. */
static void look_at_gateway(run_t *self)
{
    int64_t now = clock_monotonic_ms();
    json_t *content;

    /* The session waits for this side. To follow anew would ask for more. */
    if (has_output(self))
        self->heard = now;
    if (now - self->heard < ALIVE_MS || now - self->asked < ALIVE_MS)
        return;
    self->asked = now;
    if (!self->number) {
        if (now - self->started > START_MS)
            finish(self, complain(GATEWAY_EXIT_UNREACHABLE,
                                  "the process did not begin in time"));
        return;
    }
    if (!process_client_is_served(self->client)
        && now - self->heard > NO_GATEWAY_MS) {
        finish(self,
               complain(GATEWAY_EXIT_UNREACHABLE,
                        "the gateway is away; process %" PRIu64 " goes on",
                        self->number));
        return;
    }
    content = of_process(self);
    json_object_set_new(content, "from", json_integer((json_int_t) self->seen));
    say(self, "attach_request", content, (bytes_t){0});
}

static void turn(run_t *self, int handled[NSIG])
{
    struct pollfd watches[] = {
        {process_client_fd(self->client), POLLIN, 0},
        {-1, POLLIN, 0},
        {-1, POLLOUT, 0},
        {-1, POLLOUT, 0},
    };

    for (;;) {
        cleanup_process_news process_news_t news = {0};

        if (!process_client_receive(self->client, 0, &news))
            break;
        on_news(self, &news);
    }
    if (pending)
        pass_signals(self, handled);
    if (self->is_over || (self->ended && !has_output(self)))
        return;
    if (may_send(self))
        watches[1].fd = STDIN_FILENO;
    for (int i = 0; i < 2; i++)
        if (self->waiting[i].size)
            watches[2 + i].fd = i ? STDERR_FILENO : STDOUT_FILENO;
    if (poll(watches, 4, LOOK_MS) > 0) {
        if (watches[1].revents)
            read_input(self);
        for (int i = 0; i < 2; i++)
            if (watches[2 + i].revents)
                write_some(self, i);
    }
    acknowledge(self);
    look_at_gateway(self);
}

static int judge(run_t *self)
{
    const char *cause = member_text(self->ended, "cause");
    int signal_number =
        (int) json_integer_value(json_object_get(self->ended, "signal"));
    int code =
        (int) json_integer_value(json_object_get(self->ended, "exit_code"));
    bool is_own = strcmp(cause, "itself") == 0 || strcmp(cause, "request") == 0;

    raw_terminal_destroy(&self->raw);
    if (!is_own)
        complain(GATEWAY_EXIT_FAILED, "%s",
                 terminal_cell(member_text(self->ended, "sentence"), 400));
    if (strcmp(cause, "timeout") == 0)
        return GATEWAY_EXIT_TIME_LIMIT;
    if (strcmp(cause, "kernel") == 0)
        return GATEWAY_EXIT_GONE;
    if (strcmp(cause, "lost") == 0)
        return GATEWAY_EXIT_FAILED;
    return signal_number ? 128 + signal_number : code;
}

static int start_detached(run_t *self, json_t *content)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        process_client_ask(self->client, "start", content, &reply);
    const json_t *process = json_object_get(reply, "process");

    if (status == GATEWAY_EXIT_OK)
        printf("%" JSON_INTEGER_FORMAT "\n",
               json_integer_value(json_object_get(process, "process")));
    return status;
}

/* The terminal's own size goes with the request. */
static gateway_exit_t take_terminal(run_t *self, json_t *content)
{
    unsigned rows, columns;

    self->raw = raw_terminal_new();
    if (!self->raw)
        return complain(GATEWAY_EXIT_USAGE,
                        "standard input and output must be a terminal");
    json_object_set_new(content, "terminal",
                        raw_terminal_size(&rows, &columns)
                            ? json_pack("{s:I, s:I}", "rows", (json_int_t) rows,
                                        "columns", (json_int_t) columns)
                            : json_true());
    signal(SIGWINCH, on_signal);
    return GATEWAY_EXIT_OK;
}

int process_run(const char *session, bool may_start, process_run_mode_t mode,
                json_t *content)
{
    CLEANUP(run_clear) run_t self = {.has_input = true};
    json_auto_t *wish = content;
    int handled[NSIG] = {0};
    gateway_exit_t status =
        process_client_open(session, may_start, &self.client);

    if (status != GATEWAY_EXIT_OK)
        return status;
    if (mode == PROCESS_RUN_DETACHED)
        return start_detached(&self, json_incref(wish));
    if (mode == PROCESS_RUN_TERMINAL
        && (status = take_terminal(&self, wish)) != GATEWAY_EXIT_OK)
        return status;
    signal(SIGPIPE, SIG_IGN);
    kernel_client_catch_signals(on_signal);
    self.screens[0] = terminal_new(stdout);
    self.screens[1] = terminal_new(stderr);
    self.started = self.heard = clock_monotonic_ms();
    say(&self, "start_request", json_incref(wish), (bytes_t){0});
    while (!self.is_over && !(self.ended && !has_output(&self)))
        turn(&self, handled);
    return self.ended && !self.is_over ? judge(&self) : self.status;
}
