/* See exec_outcome.h. */
#include "gateway/cli/client/exec_outcome.h"

#include "base/clock.h"
#include "gateway/cli/client/model_view.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/cell_outcome.h"

#include <string.h>

/* Returns true if the session ended with the kernel that died, and has no fresh
 * one. */
static bool is_session_gone(exec_cell_t *self)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_ask(self->management, "session_show",
                              json_pack("{s:s}", "id", self->session), &reply);
    const char *state = member_text(json_object_get(reply, "session"), "state");

    return status == GATEWAY_EXIT_GONE || strcmp(state, "gone") == 0
           || strcmp(state, "stopping") == 0;
}

static gateway_exit_t judge(exec_cell_t *self)
{
    const char *status = member_text(self->cell.reply, "status");
    const char *ename = member_text(self->cell.reply, "ename");

    if (!self->cell.reply)
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
static void print_pages(exec_cell_t *self)
{
    const json_t *payload = json_object_get(self->cell.reply, "payload");
    json_t *item;
    size_t i;

    json_array_foreach(
        payload, i, item) if (strcmp(member_text(item, "source"), "page") == 0)
        output_printer_add(self->outputs, "page", item);
}

/* Returns the cell's outputs with the pages of its reply; the caller's. */
static json_t *take_outputs(exec_cell_t *self)
{
    json_t *outputs = output_printer_take_list(self->outputs);

    cell_outcome_add_pages(outputs, self->cell.reply);
    return outputs;
}

static void print_document(exec_cell_t *self, const char *id,
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
        json_t *value = json_object_get(self->cell.reply, *key);
        if (value)
            json_object_set(document, *key, value);
    }
    if (self->revived)
        json_object_set(document, "revived", self->revived);
    if (self->lost)
        json_object_set(document, "lost", self->lost);
    json_print(document);
}

static void print_view(exec_cell_t *self, const char *id, gateway_exit_t status)
{
    json_auto_t *outputs = take_outputs(self);

    model_view_print(id, outputs,
                     &(model_view_said_t){.reply = self->cell.reply,
                                          .figures = self->cell.figures,
                                          .lost = self->lost},
                     self->started ? clock_monotonic_ms() - self->started : -1,
                     status);
}

void exec_outcome_print_machine_readable(exec_cell_t *self, const char *id,
                                         gateway_exit_t status)
{
    if (self->is_json)
        print_document(self, id, status);
    else if (self->is_for_model)
        print_view(self, id, status);
}

gateway_exit_t exec_outcome_print(exec_cell_t *self, const char *id)
{
    gateway_exit_t status = judge(self);
    bool is_silent = self->is_json || self->is_for_model;

    print_pages(self);
    /* The traceback shows where the limit hit, not that it did. */
    if (self->cell.reply && status != GATEWAY_EXIT_OK && !is_silent
        && (status == GATEWAY_EXIT_TIME_LIMIT
            || !output_printer_has_error(self->outputs))) {
        const char *evalue = member_text(self->cell.reply, "evalue");
        cleanup_free char *text =
            mem_format("%s%s%s", member_text(self->cell.reply, "ename"),
                       *evalue ? ": " : "", evalue);

        output_printer_say(
            self->outputs,
            *text ? text : "the cell was not run: one before it failed");
    }
    if (self->revived && !is_silent)
        output_printer_say(self->outputs,
                           member_text(self->revived, "sentence"));
    output_printer_end(self->outputs);
    exec_outcome_print_machine_readable(self, id, status);
    return status;
}
