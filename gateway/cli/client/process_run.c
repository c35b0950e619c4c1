/* See process_run.h. One loop: standard input goes to the process as far as it
 * takes it, its output is written as far as it is taken here. Output that was
 * not written is not acknowledged, so a slow reader slows down the process, and
 * no output is lost. */
#include "gateway/cli/client/process_run.h"

#include "base/clock.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/process_client.h"
#include "gateway/cli/client/run_output.h"
#include "gateway/cli/core/command.h"
#include "gateway/cli/core/raw_terminal.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

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
#define INTERRUPTS    3            /* the third Ctrl-C leaves */

typedef struct {
    process_client_t *client; /* owned */
    uint64_t number;          /* of the process; 0: not started */
    json_t *ended;            /* owned; how it ended, or NULL */
    raw_terminal_t *raw;  /* owned; the program has this terminal, or NULL */
    run_output_t *output; /* owned */
    uint64_t confirmed;   /* offset up to which the session knows that the
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
    run_output_destroy(&self->output);
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

/* Reports to the session how much was written, if that is a piece or the last
 * message is some seconds old. */
static void acknowledge(run_t *self)
{
    uint64_t done = run_output_written(self->output);
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
    bool is_error = strcmp(member_text(news->content, "stream"), "stderr") == 0;
    uint64_t lost =
        run_output_add(self->output, offset,
                       is_error ? RUN_OUTPUT_ERR : RUN_OUTPUT_OUT, bytes);

    if (lost)
        complain(GATEWAY_EXIT_FAILED,
                 "%" PRIu64 " bytes of output were not received: this command "
                 "was stopped, or no gateway ran",
                 lost);
}

/* ---- input ---- */

static bool may_send(const run_t *self)
{
    return self->has_input && self->number && !self->ended
           && self->input_sent - self->input_taken < INPUT_WINDOW;
}

/* Ends this command; the program goes on. */
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

/* Goes on after another gateway has taken over the session, or this one has
 * forgotten this client. */
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

/* Follows anew if no message came for a while: another gateway may serve the
 * session. */
static void look_at_gateway(run_t *self)
{
    int64_t now = clock_monotonic_ms();
    json_t *content;

    /* The session waits for this side. To follow anew would ask for more. */
    if (run_output_is_waiting(self->output))
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
    json_object_set_new(
        content, "from",
        json_integer((json_int_t) run_output_next(self->output)));
    say(self, "attach_request", content, (bytes_t){0});
}

static bool is_finished(const run_t *self)
{
    return self->is_over
           || (self->ended && !run_output_is_waiting(self->output));
}

static void receive(run_t *self)
{
    for (;;) {
        cleanup_process_news process_news_t news = {0};

        if (!process_client_receive(self->client, 0, &news))
            return;
        on_news(self, &news);
    }
}

enum {
    WATCH_SESSION,
    WATCH_INPUT,
    WATCH_OUTPUT,
    WATCHES = WATCH_OUTPUT + RUN_OUTPUTS
};

/* Waits until there is something to receive, to read or to write. */
static void move_bytes(run_t *self)
{
    struct pollfd watches[WATCHES] = {
        [WATCH_SESSION] = {process_client_fd(self->client), POLLIN, 0},
        [WATCH_INPUT] = {may_send(self) ? STDIN_FILENO : -1, POLLIN, 0},
    };

    for (unsigned i = 0; i < RUN_OUTPUTS; i++) {
        watches[WATCH_OUTPUT + i].fd =
            run_output_fd(self->output, (run_output_stream_t) i);
        watches[WATCH_OUTPUT + i].events = POLLOUT;
    }
    if (poll(watches, WATCHES, LOOK_MS) <= 0)
        return;
    if (watches[WATCH_INPUT].revents)
        read_input(self);
    for (unsigned i = 0; i < RUN_OUTPUTS; i++)
        if (watches[WATCH_OUTPUT + i].revents)
            run_output_write(self->output, (run_output_stream_t) i, self->raw);
}

static void turn(run_t *self, int handled[NSIG])
{
    receive(self);
    if (pending)
        pass_signals(self, handled);
    if (is_finished(self))
        return;
    move_bytes(self);
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

/* Gives the terminal to the program, and adds its size to the request. */
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
    self.output = run_output_new(stdout, stderr);
    self.started = self.heard = clock_monotonic_ms();
    say(&self, "start_request", json_incref(wish), (bytes_t){0});
    while (!is_finished(&self))
        turn(&self, handled);
    return self.ended && !self.is_over ? judge(&self) : self.status;
}
