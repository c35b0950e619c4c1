/* hearth exec: runs code in a session over the session's own sockets, like
 * any Jupyter client, and tells by its exit status how it went. The gateway is
 * asked beforehand where the sockets are, and afterwards only when nothing is
 * heard for a while. */
#include "gateway/cli/command.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/answer.h"
#include "gateway/cli/mgmt.h"
#include "gateway/cli/outputs.h"
#include "gateway/cli/talk.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CODE_MAX      (64u << 20)
#define LOOK_MS       200   /* a signal is noticed at the latest then */
#define QUESTION_MS   30    /* the same, while somebody types */
#define PROGRESS_MS   2000  /* silence before the progress line */
#define DOUBT_MS      5000  /* silence before the gateway is asked */
#define NO_GATEWAY_MS 30000 /* as long may a gateway be away */
#define LAST_MS       3000  /* between a reply and its idle */
#define INTERRUPTS    3     /* the third Ctrl-C leaves */

typedef struct {
    const char *session;   /* borrowed; as the user named it */
    mgmt_t *mgmt;          /* owned */
    client_t *client;      /* owned */
    outputs_t *outputs;    /* owned */
    answer_t *answer;      /* owned; NULL when nobody can be asked */
    char *request;         /* owned; id of the execute_request */
    json_t *reply;         /* owned; its reply's content, once it came */
    json_t *revived;       /* owned; that the session was revived, or NULL */
    json_t *question;      /* owned; an input_request that is not shown yet */
    int64_t started;       /* monotonic ms */
    int64_t heard;         /* the last message */
    int64_t asked;         /* the last look at the gateway, or word of it */
    int64_t gone;          /* when its end was seen first, or 0 */
    int64_t shown;         /* the last progress line */
    bool is_idle;          /* the kernel said so for the request */
    bool has_failed;       /* a picture could not be saved */
    bool is_over;          /* no more to be expected: see `status` */
    gateway_exit_t status; /* when it is over without a reply */
} run_t;

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

static void run_clear(run_t *self)
{
    json_decref(self->question);
    json_decref(self->revived);
    json_decref(self->reply);
    free(self->request);
    answer_destroy(&self->answer);
    outputs_destroy(&self->outputs);
    client_destroy(&self->client);
    mgmt_destroy(&self->mgmt);
}

static void finish(run_t *self, gateway_exit_t status, const char *text)
{
    self->is_over = true;
    self->status = status;
    if (text)
        outputs_say(self->outputs, text);
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

/* The description of a session that can be asked; what is wrong is said. */
static gateway_exit_t find_session(run_t *self, json_t **ret_session)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        mgmt_call(self->mgmt, "session_show",
                  json_pack("{s:s}", "id", self->session), &reply);
    json_t *session = json_object_get(reply, "session");

    if (status != GATEWAY_EXIT_OK)
        return status;
    if (strcmp(member_text(session, "state"), "gone") == 0) {
        const char *detail = member_text(session, "detail");
        cleanup_free char *text = mem_format(
            "session %s is gone since %s (%s)%s%s; its variables were "
            "discarded",
            member_text(session, "id"), member_text(session, "ended"),
            member_text(session, "reason"), *detail ? ": " : "", detail);

        outputs_say(self->outputs, text);
        self->reply = json_pack("{s:s, s:s, s:s, s:O*, s:O*}", "status",
                                "error", "ename", "SessionGone", "evalue", text,
                                "reason", json_object_get(session, "reason"),
                                "ended", json_object_get(session, "ended"));
        return GATEWAY_EXIT_GONE;
    }
    *ret_session = json_incref(session);
    return GATEWAY_EXIT_OK;
}

static gateway_exit_t send_code(run_t *self, const buffer_t *code,
                                double time_limit)
{
    json_auto_t *text =
        json_stringn(code->size ? (const char *) code->data : "", code->size);
    json_auto_t *hearth = json_pack("{s:s}", "client", "hearth exec");
    json_auto_t *metadata = json_pack("{s:O}", "hearth", hearth);
    json_auto_t *content = NULL;
    const char *id;
    fault_t fault = {0};

    if (!text)
        return outputs_say(self->outputs, "the code is no UTF-8 text"),
               GATEWAY_EXIT_USAGE;
    if (time_limit > 0)
        json_object_set_new(hearth, "time_limit", json_seconds(time_limit));
    content =
        json_pack("{s:O, s:b, s:b, s:{}, s:b, s:b}", "code", text, "silent", 0,
                  "store_history", 1, "user_expressions", "allow_stdin",
                  self->answer != NULL, "stop_on_error", 1);
    if (talk_send(self->client, CHANNEL_SHELL, "execute_request", content,
                  metadata, &id, &fault)
        < 0)
        return outputs_say(self->outputs, fault.text), GATEWAY_EXIT_FAILED;
    self->request = mem_text(id);
    self->started = self->heard = self->asked = clock_monotonic_ms();
    return GATEWAY_EXIT_OK;
}

/* ---- while it runs ---- */

/* What was printed before the question travels on another socket and may
 * arrive after it: the question is shown once it has become quiet. */
static void show_question(run_t *self)
{
    json_auto_t *question = self->question;

    self->question = NULL;
    if (!question || !self->answer)
        return;
    outputs_prompt(self->outputs, member_text(question, "prompt"));
    answer_begin(self->answer,
                 json_is_true(json_object_get(question, "password")));
}

static void send_answer(run_t *self)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    json_t *value;
    fault_t fault = {0};

    if (!answer_read(self->answer, &line))
        return;
    outputs_answered(self->outputs);
    value = json_stringn((const char *) line.data, line.size);
    if (talk_answer(self->client, value ? value : json_string(""), &fault) < 0)
        finish(self, GATEWAY_EXIT_FAILED, fault.text);
}

/* The session was gone meanwhile and is not what it was. */
static void read_revived(run_t *self, const message_t *message)
{
    json_auto_t *figures = talk_figures(message);
    json_t *revived = json_object_get(figures, "revived");

    if (!json_is_object(revived))
        return;
    json_decref(self->revived);
    self->revived = json_incref(revived);
}

static void on_message(run_t *self, channel_t channel, const message_t *message)
{
    json_auto_t *content = NULL;
    talk_t what = talk_read(message, channel, self->request, &content);

    if (what == TALK_OTHERS)
        return;
    self->heard = self->asked = clock_monotonic_ms();
    if (what == TALK_REPLY) {
        json_decref(self->reply);
        self->reply = json_incref(content);
        read_revived(self, message);
    } else if (what == TALK_QUESTION) {
        json_decref(self->question);
        self->question = json_incref(content);
    } else if (what == TALK_IDLE) {
        self->is_idle = true;
    } else if (what == TALK_OUTPUT
               && !outputs_add(self->outputs, message_type(message), content)) {
        self->has_failed = true;
    }
}

static void on_interrupt(run_t *self, int *handled)
{
    fault_t fault;

    *handled = interrupts;
    if (*handled >= INTERRUPTS) {
        finish(self, GATEWAY_EXIT_FAILED,
               "leaving; the cell goes on ('hearth session interrupt --kill' "
               "ends it)");
        return;
    }
    if (answer_is_open(self->answer)) {
        answer_give_up(self->answer);
        outputs_prompt(self->outputs, "\n");
    }
    if (talk_interrupt(self->client, &fault) < 0)
        finish(self, GATEWAY_EXIT_FAILED, fault.text);
}

/* Nothing was heard for long: is there still somebody who could speak? */
static void look_at_gateway(run_t *self)
{
    int64_t now = clock_monotonic_ms();
    json_auto_t *reply = NULL;
    const json_t *session;
    gateway_exit_t status;

    if (!mgmt_is_served(self->mgmt)) {
        if (now - self->asked > NO_GATEWAY_MS)
            finish(self, GATEWAY_EXIT_UNREACHABLE,
                   "the gateway is away; the cell goes on, its output is kept "
                   "for the next gateway");
        return;
    }
    self->asked = now;
    status = mgmt_ask(self->mgmt, "session_show",
                      json_pack("{s:s}", "id", self->session), &reply);
    session = json_object_get(reply, "session");
    if (status != GATEWAY_EXIT_GONE
        && strcmp(member_text(session, "state"), "gone") != 0)
        return;
    /* The end's own error reply may be on its way: it says more. */
    if (!self->gone)
        self->gone = now;
    else if (now - self->heard > 2 * DOUBT_MS)
        finish(self, GATEWAY_EXIT_GONE, "the session is gone");
}

static void tick(run_t *self)
{
    int64_t now = clock_monotonic_ms();

    if (self->reply && now - self->heard > LAST_MS) {
        self->is_idle = true;
        return;
    }
    if (answer_is_open(self->answer))
        return;
    if (now - self->heard > PROGRESS_MS && now - self->shown >= 1000) {
        self->shown = now;
        outputs_progress(self->outputs, (now - self->started) / 1000);
    }
    if (now - self->heard > DOUBT_MS
        && (now - self->asked > DOUBT_MS || !mgmt_is_served(self->mgmt)))
        look_at_gateway(self);
}

static void run_until_idle(run_t *self)
{
    int handled = 0;
    fault_t fault = {0};

    while (!self->is_over && !(self->reply && self->is_idle)) {
        cleanup_message message_t *message = NULL;
        bool is_asking = answer_is_open(self->answer);
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

/* A kernel that died: a fresh one stands there, or the session ended. */
static bool is_session_gone(run_t *self)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        mgmt_ask(self->mgmt, "session_show",
                 json_pack("{s:s}", "id", self->session), &reply);
    const char *state = member_text(json_object_get(reply, "session"), "state");

    return status == GATEWAY_EXIT_GONE || strcmp(state, "gone") == 0
           || strcmp(state, "stopping") == 0;
}

static gateway_exit_t judge(run_t *self)
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

/* What `obj?` shows comes with the reply. */
static void print_pages(run_t *self)
{
    const json_t *payload = json_object_get(self->reply, "payload");
    json_t *item;
    size_t i;

    json_array_foreach(
        payload, i, item) if (strcmp(member_text(item, "source"), "page") == 0)
        outputs_add(self->outputs, "page", item);
}

static void print_document(run_t *self, const char *id, gateway_exit_t status)
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
        "{s:s, s:s, s:O, s:O}", "session", id, "status", "error", "outputs",
        outputs_list(self->outputs), "files", outputs_files(self->outputs));

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
    json_print(document);
}

static gateway_exit_t tell(run_t *self, const char *id, bool is_json)
{
    gateway_exit_t status = judge(self);

    print_pages(self);
    /* The traceback shows where the limit hit, not that it did. */
    if (self->reply && status != GATEWAY_EXIT_OK && !is_json
        && (status == GATEWAY_EXIT_TIME_LIMIT
            || !outputs_has_error(self->outputs))) {
        const char *evalue = member_text(self->reply, "evalue");
        cleanup_free char *text =
            mem_format("%s%s%s", member_text(self->reply, "ename"),
                       *evalue ? ": " : "", evalue);

        outputs_say(self->outputs,
                    *text ? text
                          : "the cell was not run: one before it failed");
    }
    if (self->revived && !is_json)
        outputs_say(self->outputs, member_text(self->revived, "sentence"));
    outputs_end(self->outputs);
    if (is_json)
        print_document(self, id, status);
    return status;
}

static int exec(const arguments_t *arguments)
{
    CLEANUP(run_clear)
    run_t self = {
        .session = arguments_operand(arguments, 0),
        .status = GATEWAY_EXIT_FAILED,
    };
    cleanup_buffer buffer_t code = BUFFER_EMPTY;
    json_auto_t *session = NULL;
    bool is_json = arguments_has(arguments, "json");
    bool is_from_stdin = false;
    double seconds = 0;
    gateway_exit_t status;
    fault_t fault = {0};

    if (arguments_has(arguments, "code") && arguments_operand(arguments, 1))
        return usage_error(arguments, "either -c or a file, not both");
    if (!arguments_has(arguments, "code") && !arguments_operand(arguments, 1)
        && isatty(STDIN_FILENO))
        return usage_error(arguments, "it needs -c CODE, a file, or -");
    if (arguments_seconds(arguments, "timeout", &seconds) && !(seconds > 0))
        return usage_error(arguments, "--timeout: a cell needs some time");
    if (read_code(arguments, &code, &is_from_stdin, &fault) < 0)
        return usage_error(arguments, "%s", fault.text);
    self.outputs =
        outputs_new(arguments_value(arguments, "output-dir"), is_json);
    self.answer = answer_new(is_from_stdin);
    if ((status = mgmt_open(!arguments_has(arguments, "no-start"), &self.mgmt))
            != GATEWAY_EXIT_OK
        || (status = find_session(&self, &session)) != GATEWAY_EXIT_OK) {
        if (is_json)
            print_document(&self, self.session, status);
        return status;
    }
    if (client_new(member_text(session, "connection_file"), &self.client,
                   &fault)
        < 0)
        return outputs_say(self.outputs, fault.text), GATEWAY_EXIT_FAILED;
    talk_catch_signals(on_signal);
    talk_wait_for_welcome(self.client, is_to_end);
    if ((status = send_code(&self, &code, seconds)) != GATEWAY_EXIT_OK)
        return status;
    run_until_idle(&self);
    status = tell(&self, member_text(session, "id"), is_json);
    return ending ? 128 + ending : (int) status;
}

static const flag_t flags[] = {
    {"code", 'c', "CODE", "the code itself"},
    {"output-dir", 'o', "DIR", "save pictures as DIR/1.png, DIR/2.png ..."},
    {"timeout", 't', "TIME", "end the cell after so long (90s, 20m)"},
    {"json", 0, NULL, "print one JSON document at the end"},
    FLAG_NO_START,
    {0},
};

const command_t exec_commands[] = {
    {
        .name = "exec",
        .operands = "ID [FILE|-]",
        .help = "run code in a session, print what it says",
        .more = "Exit status: 0 done, 1 the code raised, 3 the session is "
                "gone,\n124 the time limit was reached. Ctrl-C interrupts the "
                "cell.",
        .flags = flags,
        .run = exec,
    },
    {0},
};
