/* See cell_runner.h. One cell at a time; messages of other requests are
 * ignored. input() is given the answers that came with the cell. */
#include "gateway/cli/client/cell_runner.h"

#include "base/clock.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/outside_again.h"
#include "gateway/cli/client/pending_cell.h"
#include "notebooks/formats/output_list.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <string.h>

static const char END_OF_INPUT[] = "\004"; /* EOFError, as ipykernel has it */

struct cell_runner {
    management_client_t *management; /* borrowed */
    char *session;                   /* owned; its id */
    char *name;                /* owned; of the client, for the recording */
    bool is_revival;           /* recorded cells of this session run again */
    client_t *client;          /* owned */
    output_list_t outputs;     /* owned; of the running cell */
    outside_again_t *again;    /* owned; asks for what came from outside */
    display_places_t displays; /* owned; where they are, in all cells */
    pending_cell_t cell;       /* owned; what has come of the running one */
    json_t *answers;           /* owned; for input(), or NULL */
    size_t answered;           /* of them */
    bool is_open;              /* it shows a display that can be updated */
};

void cell_runner_destroy(cell_runner_t **self_p)
{
    cell_runner_t *self = *self_p;

    if (!self)
        return;
    json_decref(self->answers);
    display_places_clear(&self->displays);
    pending_cell_clear(&self->cell);
    free(self->name);
    free(self->session);
    outside_again_destroy(&self->again);
    output_list_clear(&self->outputs);
    client_destroy(&self->client);
    free(self);
    *self_p = NULL;
}

int cell_runner_new(const cell_runner_how_t *how, cell_runner_t **ret_runner,
                    fault_t *fault)
{
    cleanup_cell_runner cell_runner_t *self = mem_new(sizeof *self);
    int r;

    self->management = how->management;
    self->session = mem_text(member_text(how->session, "id"));
    self->name = mem_text(how->client);
    self->is_revival = how->is_revival;
    self->again =
        outside_again_new(&(outside_again_how_t){.management = how->management,
                                                 .session = self->session,
                                                 .is_revival = how->is_revival,
                                                 .goes_on = how->goes_on});
    r = client_new(member_text(how->session, "connection_file"), &self->client,
                   fault);
    if (r < 0)
        return r;
    kernel_client_wait_for_welcome(self->client, NULL);
    *ret_runner = take_ptr(self);
    return 0;
}

static void begin(cell_runner_t *self, const char *id, const json_t *answers)
{
    json_decref(self->answers);
    self->answers = json_incref((json_t *) (uintptr_t) answers);
    self->answered = 0;
    output_list_clear(&self->outputs);
    self->is_open = false;
    pending_cell_begin(&self->cell, id);
}

static int execute(void *arg, const cell_executor_request_t *request,
                   fault_t *fault)
{
    cell_runner_t *self = arg;
    bool is_silent = request->code == NULL;
    json_auto_t *expressions = json_object();
    json_auto_t *content = NULL;
    json_auto_t *metadata =
        json_pack("{s:{s:s, s:b, s:b}}", "hearth", "client", self->name,
                  "revival", self->is_revival, "namespace", 1);
    const char *id;
    int r;

    if (request->time_limit > 0)
        json_object_set_new(json_object_get(metadata, "hearth"), "time_limit",
                            json_real(request->time_limit));
    if (request->expression)
        json_object_set_new(expressions, "hearth",
                            json_string(request->expression));
    content =
        json_pack("{s:s%, s:b, s:b, s:O, s:b, s:b}", "code",
                  is_silent ? "" : request->code,
                  is_silent ? (size_t) 0 : request->size, "silent", is_silent,
                  "store_history", !is_silent, "user_expressions", expressions,
                  "allow_stdin", request->answers != NULL, "stop_on_error", 0);
    if (!content || !json_object_size(expressions) != !request->expression)
        return fault_set(fault, EINVAL, "the code is not UTF-8 text");
    r = kernel_client_execute(self->client, content, metadata, &id, fault);
    if (r == 0)
        begin(self, id, request->answers);
    return r;
}

static int interrupt(void *arg, fault_t *fault)
{
    cell_runner_t *self = arg;

    return kernel_client_interrupt(self->client, fault);
}

/* ---- what is heard ---- */

/* Gives the outputs that show this display the new form, in earlier cells
 * too. */
static void on_update(cell_runner_t *self, const json_t *content)
{
    json_auto_t *form = output_list_form(content);

    (void) display_places_update(&self->displays, display_id(content), form, 0,
                                 DISPLAY_PLACES_ROOM);
}

static void on_output(cell_runner_t *self, const char *type, json_t *content)
{
    const char *id = display_id(content);

    if (strcmp(type, "update_display_data") == 0) {
        on_update(self, content);
        return;
    }
    output_list_add(&self->outputs, 0, type, content, 0);
    if (!*id || strcmp(type, "display_data") != 0)
        return;
    self->is_open = true;
    display_places_note(&self->displays, id, output_list_last(&self->outputs),
                        0);
}

/* Answers a question. One beyond the recorded ones gets the end of the input. A
 * recorded question without an answer had been interrupted. */
static void on_question(cell_runner_t *self)
{
    json_t *answer = json_array_get(self->answers, self->answered++);
    fault_t ignored; /* a session that is gone is noticed by its silence */

    if (json_is_null(answer))
        (void) kernel_client_interrupt(self->client, &ignored);
    else
        (void) kernel_client_answer(self->client,
                                    json_is_string(answer)
                                        ? json_incref(answer)
                                        : json_string(END_OF_INPUT),
                                    &ignored);
}

static void on_message(cell_runner_t *self, channel_t channel,
                       const message_t *message)
{
    json_auto_t *content = NULL;
    pending_cell_event_t what =
        pending_cell_hear(&self->cell, channel, message, &content);

    if (what == PENDING_CELL_QUESTION)
        on_question(self);
    else if (what == PENDING_CELL_OUTPUT)
        on_output(self, message_type(message), content);
}

/* Asks the gateway if the session still exists, because no message came for
 * long. Returns true if it does not. */
static bool is_gone(cell_runner_t *self)
{
    return clock_monotonic_ms() - self->cell.asked >= PENDING_CELL_DOUBT_MS
           && management_client_is_served(self->management)
           && pending_cell_is_session_gone(&self->cell, self->management,
                                           self->session);
}

static int finish(cell_runner_t *self, cell_executor_result_t *ret_result,
                  fault_t *fault)
{
    if (strcmp(member_text(self->cell.reply, "ename"), "SessionGone") == 0)
        return fault_set(fault, ESHUTDOWN, "%s",
                         member_text(self->cell.reply, "evalue"));
    cell_executor_result_clear(ret_result);
    ret_result->reply = take_ptr(self->cell.reply);
    ret_result->figures = take_ptr(self->cell.figures);
    ret_result->outputs = output_list_finish(&self->outputs);
    ret_result->is_open = self->is_open;
    return 1;
}

static int wait_for_end(void *arg, int timeout_ms,
                        cell_executor_result_t *ret_result, fault_t *fault)
{
    cell_runner_t *self = arg;
    int64_t deadline = clock_monotonic_ms() + timeout_ms;

    for (;;) {
        int64_t now = clock_monotonic_ms();
        cleanup_message message_t *message = NULL;
        channel_t channel;
        int r;

        if (self->cell.reply
            && (self->cell.is_idle || pending_cell_is_late(&self->cell, now)))
            return finish(self, ret_result, fault);
        if (now >= deadline)
            return is_gone(self) ? fault_set(
                       fault, ESHUTDOWN, "session %s is gone", self->session)
                                 : 0;
        r = client_receive(self->client, (int) (deadline - now), &channel,
                           &message, fault);
        if (r == 0)
            on_message(self, channel, message);
        else if (r == -EINTR)
            return 0;
        else if (r != -ETIMEDOUT)
            return r;
    }
}

static int restart(void *arg, fault_t *fault)
{
    cell_runner_t *self = arg;
    json_auto_t *reply = NULL;

    /* Requests from here on wait for the fresh kernel. */
    if (management_client_ask(self->management, "session_restart",
                              json_pack("{s:s}", "id", self->session), &reply)
        != GATEWAY_EXIT_OK)
        return fault_set(fault, ESHUTDOWN, "session %s cannot be restarted",
                         self->session);
    return 0;
}

static int bring(void *arg, const json_t *call, char **ret_why, fault_t *fault)
{
    const cell_runner_t *self = arg;

    return outside_again_bring(self->again, call, ret_why, fault);
}

cell_executor_t cell_runner_methods(cell_runner_t *self)
{
    static const cell_executor_methods_t methods = {.execute = execute,
                                                    .wait = wait_for_end,
                                                    .interrupt = interrupt,
                                                    .bring = bring,
                                                    .restart = restart};

    return (cell_executor_t){.methods = &methods, .self = self};
}
