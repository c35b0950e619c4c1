/* See exec_cell.h. */
#include "gateway/cli/client/exec_cell.h"

#include "base/clock.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define LOOK_MS       200   /* a signal is noticed at the latest then */
#define QUESTION_MS   30    /* the same, while a person types */
#define PROGRESS_MS   2000  /* silence before the progress line */
#define NO_GATEWAY_MS 30000 /* how long a gateway may be away */
#define INTERRUPTS    3     /* the third Ctrl-C leaves */

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

void exec_cell_clear(exec_cell_t *self)
{
    json_decref(self->question);
    json_decref(self->lost);
    json_decref(self->revived);
    pending_cell_clear(&self->cell);
    prompt_input_destroy(&self->answer);
    output_printer_destroy(&self->outputs);
    client_destroy(&self->client);
    management_client_destroy(&self->management);
}

void exec_cell_prepare(exec_cell_t *self)
{
    kernel_client_catch_signals(on_signal);
    kernel_client_wait_for_welcome(self->client, is_to_end);
}

int exec_cell_ending(void)
{
    return ending;
}

static void finish(exec_cell_t *self, gateway_exit_t status, const char *text)
{
    self->is_over = true;
    self->status = status;
    if (text)
        output_printer_say(self->outputs, text);
}

gateway_exit_t exec_cell_send(exec_cell_t *self, const buffer_t *code,
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
    pending_cell_begin(&self->cell, id);
    self->started = clock_monotonic_ms();
    return GATEWAY_EXIT_OK;
}

/* ---- while it runs ---- */

/* Shows the question. Earlier output travels on another socket and may arrive
 * later, so the question waits until the output is quiet. */
static void show_question(exec_cell_t *self)
{
    json_auto_t *question = self->question;

    self->question = NULL;
    if (!question || !self->answer)
        return;
    output_printer_prompt(self->outputs, member_text(question, "prompt"));
    prompt_input_begin(self->answer,
                       json_is_true(json_object_get(question, "password")));
}

static void send_answer(exec_cell_t *self)
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
static void read_loss(exec_cell_t *self, const json_t *figures)
{
    json_t *lost = json_object_get(figures, "lost");

    if (!json_is_object(lost))
        return;
    json_decref(self->lost);
    self->lost = json_incref(lost);
}

/* Keeps that the session was gone meanwhile and has lost its variables. */
static void on_reply(exec_cell_t *self)
{
    json_t *revived = json_object_get(self->cell.figures, "revived");

    read_loss(self, self->cell.figures);
    if (!json_is_object(revived))
        return;
    json_decref(self->revived);
    self->revived = json_incref(revived);
}

static void on_input(exec_cell_t *self, const message_t *message)
{
    json_auto_t *figures = kernel_client_figures(message);

    read_loss(self, figures);
}

static void on_output(exec_cell_t *self, const message_t *message,
                      json_t *content)
{
    const char *type = message_type(message);

    if (strcmp(type, "execute_input") == 0)
        on_input(self, message);
    else if (!output_printer_add(self->outputs, type, content))
        self->has_failed = true;
}

static void on_message(exec_cell_t *self, channel_t channel,
                       const message_t *message)
{
    json_auto_t *content = NULL;
    pending_cell_event_t what =
        pending_cell_hear(&self->cell, channel, message, &content);

    if (what == PENDING_CELL_REPLY) {
        on_reply(self);
    } else if (what == PENDING_CELL_QUESTION) {
        json_decref(self->question);
        self->question = json_incref(content);
    } else if (what == PENDING_CELL_OUTPUT) {
        on_output(self, message, content);
    }
}

static void on_interrupt(exec_cell_t *self, int *handled)
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

/* Asks the gateway whether the session still exists, because no message came
 * for long. */
static void look_at_gateway(exec_cell_t *self)
{
    int64_t now = clock_monotonic_ms();

    if (!management_client_is_served(self->management)) {
        if (now - self->cell.asked > NO_GATEWAY_MS)
            finish(self, GATEWAY_EXIT_UNREACHABLE,
                   "the gateway is away; the cell goes on, its output is kept "
                   "for the next gateway");
        return;
    }
    if (!pending_cell_is_session_gone(&self->cell, self->management,
                                      self->session))
        return;
    /* The error reply of the session's end may still come: it says more. */
    if (!self->gone)
        self->gone = now;
    else if (now - self->cell.heard > 2 * PENDING_CELL_DOUBT_MS)
        finish(self, GATEWAY_EXIT_GONE, "the session is gone");
}

static void tick(exec_cell_t *self)
{
    int64_t now = clock_monotonic_ms();

    if (pending_cell_is_late(&self->cell, now)) {
        self->cell.is_idle = true;
        return;
    }
    if (prompt_input_is_open(self->answer))
        return;
    if (now - self->cell.heard > PROGRESS_MS && now - self->shown >= 1000) {
        self->shown = now;
        output_printer_progress(self->outputs, (now - self->started) / 1000);
    }
    if (now - self->cell.heard > PENDING_CELL_DOUBT_MS
        && (now - self->cell.asked > PENDING_CELL_DOUBT_MS
            || !management_client_is_served(self->management)))
        look_at_gateway(self);
}

void exec_cell_run(exec_cell_t *self)
{
    int handled = 0;
    fault_t fault = {0};

    while (!self->is_over && !(self->cell.reply && self->cell.is_idle)) {
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
