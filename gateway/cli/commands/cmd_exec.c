/* hearth exec: runs code in a session over the session's own sockets, like any
 * Jupyter client. Its exit status is the outcome. It asks the gateway for the
 * sockets before, and for the session's state only when nothing arrives for a
 * while. */
#include "gateway/cli/core/command.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/model_view.h"
#include "gateway/cli/client/output_printer.h"
#include "gateway/cli/core/prompt_input.h"
#include "gateway/config/session_gone.h"
#include "notebooks/recording/cell_outcome.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CODE_MAX      (64u << 20)
#define LOOK_MS       200   /* a signal is noticed at the latest then */
#define QUESTION_MS   30    /* the same, while a person types */
#define PROGRESS_MS   2000  /* silence before the progress line */
#define DOUBT_MS      5000  /* silence before the gateway is asked */
#define NO_GATEWAY_MS 30000 /* how long a gateway may be away */
#define LAST_MS       3000  /* between a reply and its idle */
#define INTERRUPTS    3     /* the third Ctrl-C leaves */

typedef struct {
    const char *session;             /* borrowed; as the user named it */
    management_client_t *management; /* owned */
    client_t *client;                /* owned */
    output_printer_t *outputs;       /* owned */
    prompt_input_t *answer;          /* owned; NULL if no person can be asked */
    char *request;                   /* owned; id of the execute_request */
    json_t *reply;         /* owned; its reply's content, once it came */
    json_t *figures;       /* owned; hearth's members of the reply's metadata,
                              or NULL */
    json_t *revived;       /* owned; that the session was revived, or NULL */
    json_t *lost;          /* owned; the variables that were lost, or NULL */
    json_t *question;      /* owned; an input_request that is not shown yet */
    int64_t started;       /* monotonic ms */
    int64_t heard;         /* the last message */
    int64_t asked;         /* the last look at the gateway, or word of it */
    int64_t gone;          /* when its end was seen first, or 0 */
    int64_t shown;         /* the last progress line */
    bool is_idle;          /* the kernel said so for the request */
    bool has_failed;       /* a picture could not be saved */
    bool is_json;          /* print a document at the end, nothing before */
    bool is_for_model;     /* print a view at the end, nothing before */
    bool is_over;          /* no more to be expected: see `status` */
    gateway_exit_t status; /* when it is over without a reply */
} execution_t;

/* Set by the handler, read by the loop. */
static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t ending;

static void on_signal(int number)
{
    if (number == SIGINT)
        interrupts++;
    else
        ending = number;
}

static bool is_to_end(void)
{
    return interrupts || ending;
}

static void run_clear(execution_t *self)
{
    json_decref(self->question);
    json_decref(self->lost);
    json_decref(self->revived);
    json_decref(self->figures);
    json_decref(self->reply);
    free(self->request);
    prompt_input_destroy(&self->answer);
    output_printer_destroy(&self->outputs);
    client_destroy(&self->client);
    management_client_destroy(&self->management);
}

static void finish(execution_t *self, gateway_exit_t status, const char *text)
{
    self->is_over = true;
    self->status = status;
    if (text)
        output_printer_say(self->outputs, text);
}

/* ---- before ---- */

static int read_stdin(buffer_t *code, fault_t *fault)
{
    for (;;) {
        ssize_t size = read(STDIN_FILENO, buffer_reserve(code, 65536), 65536);

        if (size < 0)
            return fault_set(fault, errno, "standard input: %s",
                             strerror(errno));
        if (size == 0)
            return 0;
        code->size += (size_t) size;
        if (code->size > CODE_MAX)
            return fault_set(fault, EFBIG, "the code is larger than 64 MiB");
    }
}

static int read_code(const arguments_t *arguments, buffer_t *code,
                     bool *ret_from_stdin, fault_t *fault)
{
    const char *text = arguments_value(arguments, "code");
    const char *path = arguments_operand(arguments, 1);

    *ret_from_stdin = !text && (!path || strcmp(path, "-") == 0);
    if (text) {
        buffer_text(code, text);
        return 0;
    }
    return *ret_from_stdin ? read_stdin(code, fault)
                           : file_read(path, CODE_MAX, code, fault);
}

/* Returns the description of a session that can be asked; prints what is
 * wrong. */
static gateway_exit_t find_session(execution_t *self, json_t **ret_session)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_call(self->management, "session_show",
                               json_pack("{s:s}", "id", self->session), &reply);
    json_t *session = json_object_get(reply, "session");

    if (status != GATEWAY_EXIT_OK)
        return status;
    if (strcmp(member_text(session, "state"), "gone") == 0) {
        cleanup_free char *text = session_gone_text(
            member_text(session, "id"), member_text(session, "ended"),
            member_text(session, "reason"), member_text(session, "detail"));

        output_printer_say(self->outputs, text);
        self->reply = json_pack("{s:s, s:s, s:s, s:O*, s:O*}", "status",
                                "error", "ename", "SessionGone", "evalue", text,
                                "reason", json_object_get(session, "reason"),
                                "ended", json_object_get(session, "ended"));
        return GATEWAY_EXIT_GONE;
    }
    *ret_session = json_incref(session);
    return GATEWAY_EXIT_OK;
}

static gateway_exit_t send_code(execution_t *self, const buffer_t *code,
                                double time_limit)
{
    json_auto_t *text =
        json_stringn(code->size ? (const char *) code->data : "", code->size);
    json_auto_t *hearth = json_pack("{s:s}", "client", "hearth exec");
    json_auto_t *metadata = json_pack("{s:O}", "hearth", hearth);
    json_auto_t *content = NULL;
    const char *id;
    fault_t fault = {0};

    if (!text) {
        output_printer_say(self->outputs, "the code is not UTF-8 text");
        return GATEWAY_EXIT_USAGE;
    }
    if (self->is_for_model) {
        json_object_set_new(hearth, "view", json_string("model"));
        json_object_set_new(hearth, "namespace", json_true());
    }
    if (self->is_for_model || self->is_json)
        json_object_set_new(hearth, "reader", json_string("exec"));
    if (time_limit > 0)
        json_object_set_new(hearth, "time_limit", json_seconds(time_limit));
    content =
        json_pack("{s:O, s:b, s:b, s:{}, s:b, s:b}", "code", text, "silent", 0,
                  "store_history", 1, "user_expressions", "allow_stdin",
                  self->answer != NULL, "stop_on_error", 1);
    if (kernel_client_execute(self->client, content, metadata, &id, &fault)
        < 0) {
        output_printer_say(self->outputs, fault.text);
        return GATEWAY_EXIT_FAILED;
    }
    self->request = mem_text(id);
    self->started = self->heard = self->asked = clock_monotonic_ms();
    return GATEWAY_EXIT_OK;
}

/* ---- while it runs ---- */

/* Shows the question. Earlier output travels on another socket and may arrive
 * later, so the question waits until the output is quiet. */
static void show_question(execution_t *self)
{
    json_auto_t *question = self->question;

    self->question = NULL;
    if (!question || !self->answer)
        return;
    output_printer_prompt(self->outputs, member_text(question, "prompt"));
    prompt_input_begin(self->answer,
                       json_is_true(json_object_get(question, "password")));
}

static void send_answer(execution_t *self)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    json_t *value;
    fault_t fault = {0};

    if (!prompt_input_read(self->answer, &line))
        return;
    output_printer_answered(self->outputs);
    value = json_stringn((const char *) line.data, line.size);
    if (kernel_client_answer(self->client, value ? value : json_string(""),
                             &fault)
        < 0)
        finish(self, GATEWAY_EXIT_FAILED, fault.text);
}

/* Keeps the loss of variables that the session reports in a message. */
static void read_loss(execution_t *self, const json_t *figures)
{
    json_t *lost = json_object_get(figures, "lost");

    if (!json_is_object(lost))
        return;
    json_decref(self->lost);
    self->lost = json_incref(lost);
}

/* Includes that the session was gone meanwhile and has lost its variables. */
static void read_figures(execution_t *self, const message_t *message)
{
    json_t *revived;

    json_decref(self->figures);
    self->figures = kernel_client_figures(message);
    read_loss(self, self->figures);
    revived = json_object_get(self->figures, "revived");
    if (!json_is_object(revived))
        return;
    json_decref(self->revived);
    self->revived = json_incref(revived);
}

static void on_input(execution_t *self, const message_t *message)
{
    json_auto_t *figures = kernel_client_figures(message);

    read_loss(self, figures);
}

static void on_message(execution_t *self, channel_t channel,
                       const message_t *message)
{
    json_auto_t *content = NULL;
    kernel_client_event_t what =
        kernel_client_read(message, channel, self->request, &content);

    if (what == KERNEL_CLIENT_OTHERS)
        return;
    self->heard = self->asked = clock_monotonic_ms();
    if (what == KERNEL_CLIENT_REPLY) {
        json_decref(self->reply);
        self->reply = json_incref(content);
        read_figures(self, message);
    } else if (what == KERNEL_CLIENT_QUESTION) {
        json_decref(self->question);
        self->question = json_incref(content);
    } else if (what == KERNEL_CLIENT_IDLE) {
        self->is_idle = true;
    } else if (what == KERNEL_CLIENT_OUTPUT
               && strcmp(message_type(message), "execute_input") == 0) {
        on_input(self, message);
    } else if (what == KERNEL_CLIENT_OUTPUT
               && !output_printer_add(self->outputs, message_type(message),
                                      content)) {
        self->has_failed = true;
    }
}

static void on_interrupt(execution_t *self, int *handled)
{
    fault_t fault;

    *handled = interrupts;
    if (*handled >= INTERRUPTS) {
        finish(self, GATEWAY_EXIT_FAILED,
               "leaving; the cell goes on ('hearth session interrupt --kill' "
               "ends it)");
        return;
    }
    if (prompt_input_is_open(self->answer)) {
        prompt_input_give_up(self->answer);
        output_printer_prompt(self->outputs, "\n");
    }
    if (kernel_client_interrupt(self->client, &fault) < 0)
        finish(self, GATEWAY_EXIT_FAILED, fault.text);
}

/* No message came for long: asks the gateway whether the session still
 * exists. */
static void look_at_gateway(execution_t *self)
{
    int64_t now = clock_monotonic_ms();
    json_auto_t *reply = NULL;
    const json_t *session;
    gateway_exit_t status;

    if (!management_client_is_served(self->management)) {
        if (now - self->asked > NO_GATEWAY_MS)
            finish(self, GATEWAY_EXIT_UNREACHABLE,
                   "the gateway is away; the cell goes on, its output is kept "
                   "for the next gateway");
        return;
    }
    self->asked = now;
    status =
        management_client_ask(self->management, "session_show",
                              json_pack("{s:s}", "id", self->session), &reply);
    session = json_object_get(reply, "session");
    if (status != GATEWAY_EXIT_GONE
        && strcmp(member_text(session, "state"), "gone") != 0)
        return;
    /* The error reply of the session's end may still come: it says more. */
    if (!self->gone)
        self->gone = now;
    else if (now - self->heard > 2 * DOUBT_MS)
        finish(self, GATEWAY_EXIT_GONE, "the session is gone");
}

static void tick(execution_t *self)
{
    int64_t now = clock_monotonic_ms();

    if (self->reply && now - self->heard > LAST_MS) {
        self->is_idle = true;
        return;
    }
    if (prompt_input_is_open(self->answer))
        return;
    if (now - self->heard > PROGRESS_MS && now - self->shown >= 1000) {
        self->shown = now;
        output_printer_progress(self->outputs, (now - self->started) / 1000);
    }
    if (now - self->heard > DOUBT_MS
        && (now - self->asked > DOUBT_MS
            || !management_client_is_served(self->management)))
        look_at_gateway(self);
}

static void run_until_idle(execution_t *self)
{
    int handled = 0;
    fault_t fault = {0};

    while (!self->is_over && !(self->reply && self->is_idle)) {
        cleanup_message message_t *message = NULL;
        bool is_asking = prompt_input_is_open(self->answer);
        bool is_quick = is_asking || self->question;
        channel_t channel;
        int r;

        if (ending) {
            finish(self, GATEWAY_EXIT_FAILED, NULL);
            return;
        }
        if (interrupts != handled)
            on_interrupt(self, &handled);
        if (is_asking)
            send_answer(self);
        r = client_receive(self->client, is_quick ? QUESTION_MS : LOOK_MS,
                           &channel, &message, &fault);
        if (r == 0)
            on_message(self, channel, message);
        else if (r != -ETIMEDOUT && r != -EINTR)
            finish(self, GATEWAY_EXIT_FAILED, fault.text);
        else if (self->question)
            show_question(self);
        else
            tick(self);
    }
}

/* ---- afterwards ---- */

/* The kernel died: returns true if the session ended and has no fresh kernel.
 */
static bool is_session_gone(execution_t *self)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_ask(self->management, "session_show",
                              json_pack("{s:s}", "id", self->session), &reply);
    const char *state = member_text(json_object_get(reply, "session"), "state");

    return status == GATEWAY_EXIT_GONE || strcmp(state, "gone") == 0
           || strcmp(state, "stopping") == 0;
}

static gateway_exit_t judge(execution_t *self)
{
    const char *status = member_text(self->reply, "status");
    const char *ename = member_text(self->reply, "ename");

    if (!self->reply)
        return self->status;
    if (strcmp(status, "ok") == 0)
        return self->has_failed ? GATEWAY_EXIT_FAILED : GATEWAY_EXIT_OK;
    if (strcmp(ename, "SessionGone") == 0)
        return GATEWAY_EXIT_GONE;
    if (strcmp(ename, "TimeLimitExceeded") == 0)
        return GATEWAY_EXIT_TIME_LIMIT;
    if (strcmp(ename, "KernelDied") == 0 && is_session_gone(self))
        return GATEWAY_EXIT_GONE;
    return GATEWAY_EXIT_FAILED;
}

/* Prints the help text of `obj?`, which comes with the reply. */
static void print_pages(execution_t *self)
{
    const json_t *payload = json_object_get(self->reply, "payload");
    json_t *item;
    size_t i;

    json_array_foreach(
        payload, i, item) if (strcmp(member_text(item, "source"), "page") == 0)
        output_printer_add(self->outputs, "page", item);
}

/* Returns the cell's outputs with the pages of its reply; the caller's. */
static json_t *take_outputs(execution_t *self)
{
    json_t *outputs = output_printer_take_list(self->outputs);

    cell_outcome_add_pages(outputs, self->reply);
    return outputs;
}

static void print_document(execution_t *self, const char *id,
                           gateway_exit_t status)
{
    static const struct {
        gateway_exit_t status;
        const char *name;
    } names[] = {
        {GATEWAY_EXIT_OK, "ok"},
        {GATEWAY_EXIT_GONE, "gone"},
        {GATEWAY_EXIT_TIME_LIMIT, "time_limit"},
        {GATEWAY_EXIT_UNREACHABLE, "no_gateway"},
        {GATEWAY_EXIT_FAILED, "error"},
    };
    static const char *const members[] = {
        "execution_count", "ename", "evalue", "traceback",
        "reason",          "ended", NULL};
    json_auto_t *document = json_pack(
        "{s:s, s:s, s:o, s:O}", "session", id, "status", "error", "outputs",
        take_outputs(self), "files", output_printer_files(self->outputs));

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            json_object_set_new(document, "status", json_string(names[i].name));
    for (const char *const *key = members; *key; key++) {
        json_t *value = json_object_get(self->reply, *key);
        if (value)
            json_object_set(document, *key, value);
    }
    if (self->revived)
        json_object_set(document, "revived", self->revived);
    if (self->lost)
        json_object_set(document, "lost", self->lost);
    json_print(document);
}

static void print_view(execution_t *self, const char *id, gateway_exit_t status)
{
    json_auto_t *outputs = take_outputs(self);

    model_view_print(
        id, outputs,
        &(model_view_said_t){
            .reply = self->reply, .figures = self->figures, .lost = self->lost},
        self->started ? clock_monotonic_ms() - self->started : -1, status);
}

/* Prints the document or the view that was asked for, if any. */
static void print_machine_readable(execution_t *self, const char *id,
                                   gateway_exit_t status)
{
    if (self->is_json)
        print_document(self, id, status);
    else if (self->is_for_model)
        print_view(self, id, status);
}

static gateway_exit_t print_outcome(execution_t *self, const char *id)
{
    gateway_exit_t status = judge(self);
    bool is_silent = self->is_json || self->is_for_model;

    print_pages(self);
    /* The traceback shows where the limit hit, not that it did. */
    if (self->reply && status != GATEWAY_EXIT_OK && !is_silent
        && (status == GATEWAY_EXIT_TIME_LIMIT
            || !output_printer_has_error(self->outputs))) {
        const char *evalue = member_text(self->reply, "evalue");
        cleanup_free char *text =
            mem_format("%s%s%s", member_text(self->reply, "ename"),
                       *evalue ? ": " : "", evalue);

        output_printer_say(
            self->outputs,
            *text ? text : "the cell was not run: one before it failed");
    }
    if (self->revived && !is_silent)
        output_printer_say(self->outputs,
                           member_text(self->revived, "sentence"));
    output_printer_end(self->outputs);
    print_machine_readable(self, id, status);
    return status;
}

/* The options that are more than a switch. */
typedef struct {
    buffer_t code;      /* owned */
    bool is_from_stdin; /* the code was read from standard input */
    double seconds;     /* the cell's time limit; 0: none */
} wish_t;

static void wish_clear(wish_t *self)
{
    buffer_reset(&self->code);
}

/* Returns GATEWAY_EXIT_OK; or prints what is wrong with the command line. */
static int read_wish(const execution_t *self, const arguments_t *arguments,
                     wish_t *ret_wish)
{
    fault_t fault = {0};

    if (self->is_json && self->is_for_model)
        return usage_error(arguments, "either --json or --for-model");
    if (arguments_has(arguments, "code") && arguments_operand(arguments, 1))
        return usage_error(arguments, "either -c or a file, not both");
    if (!arguments_has(arguments, "code") && !arguments_operand(arguments, 1)
        && isatty(STDIN_FILENO))
        return usage_error(arguments,
                           "there is no code: give -c CODE, a file, or - for "
                           "standard input");
    if (arguments_seconds(arguments, "timeout", &ret_wish->seconds)
        && !(ret_wish->seconds > 0))
        return usage_error(arguments, "--timeout must be more than 0");
    if (read_code(arguments, &ret_wish->code, &ret_wish->is_from_stdin, &fault)
        < 0)
        return usage_error(arguments, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* Connects to the gateway, then to the session. Prints what failed. */
static gateway_exit_t connect_session(execution_t *self,
                                      const arguments_t *arguments,
                                      json_t **ret_session)
{
    bool may_start = !arguments_has(arguments, "no-start");
    gateway_exit_t status =
        management_client_open(may_start, &self->management);
    fault_t fault = {0};

    if (status == GATEWAY_EXIT_OK)
        status = find_session(self, ret_session);
    if (status != GATEWAY_EXIT_OK) {
        print_machine_readable(self, self->session, status);
        return status;
    }
    if (client_new(member_text(*ret_session, "connection_file"), &self->client,
                   &fault)
        < 0) {
        output_printer_say(self->outputs, fault.text);
        return GATEWAY_EXIT_FAILED;
    }
    return GATEWAY_EXIT_OK;
}

static int exec(const arguments_t *arguments)
{
    CLEANUP(run_clear)
    execution_t self = {
        .session = arguments_operand(arguments, 0),
        .status = GATEWAY_EXIT_FAILED,
        .is_json = arguments_has(arguments, "json"),
        .is_for_model = arguments_has(arguments, "for-model"),
    };
    CLEANUP(wish_clear) wish_t wish = {.code = BUFFER_EMPTY};
    json_auto_t *session = NULL;
    int status = read_wish(&self, arguments, &wish);

    if (status != GATEWAY_EXIT_OK)
        return status;
    self.outputs = output_printer_new(arguments_value(arguments, "output-dir"),
                                      self.is_json || self.is_for_model);
    self.answer = prompt_input_new(wish.is_from_stdin);
    if ((status = connect_session(&self, arguments, &session))
        != GATEWAY_EXIT_OK)
        return status;
    kernel_client_catch_signals(on_signal);
    kernel_client_wait_for_welcome(self.client, is_to_end);
    if ((status = send_code(&self, &wish.code, wish.seconds))
        != GATEWAY_EXIT_OK)
        return status;
    run_until_idle(&self);
    status = print_outcome(&self, member_text(session, "id"));
    return ending ? 128 + ending : status;
}

static const flag_t flags[] = {
    {"code", 'c', "CODE", "the code itself"},
    {"output-dir", 'o', "DIR", "save pictures as DIR/1.png, DIR/2.png ..."},
    {"timeout", 't', "TIME",
     "interrupt the cell after this time, as 90s or 20m"},
    {"json", 0, NULL, "print one JSON document at the end"},
    {"for-model", 0, NULL, "print what a language model needs, at the end"},
    FLAG_NO_START,
    {0},
};

const command_t exec_commands[] = {
    {
        .name = "exec",
        .operands = "ID [FILE|-]",
        .help = "run code in a session and print its output",
        .more = "Exit status: 0 done, 1 the code raised, 3 the session is "
                "gone,\n124 the time limit was reached. Ctrl-C interrupts the "
                "cell.",
        .flags = flags,
        .run = exec,
    },
    {0},
};
