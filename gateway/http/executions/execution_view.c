/* See execution_view.h. */
#include "gateway/http/executions/execution_view.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/http/executions/execution_outcome.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/process_transcript.h"

#include <errno.h>
#include <string.h>

void execution_view_clear(execution_view_t *self)
{
    modelview_clear(&self->view);
    json_decref(self->outputs);
    json_decref(self->reply);
    json_decref(self->metadata);
    json_decref(self->loss);
    *self = (execution_view_t){0};
}

/* --- The outcome --- */

/* Returns the status: a time limit counts as an interrupt unless the kernel was
 * ended. */
static modelview_status_t status_of_reply(const json_t *reply)
{
    const char *name = member_text(reply, "ename");

    if (strcmp(member_text(reply, "status"), "ok") == 0)
        return MODELVIEW_OK;
    if (strcmp(name, "KernelDied") == 0 || strcmp(name, "SessionGone") == 0)
        return MODELVIEW_LOST;
    if (strcmp(name, "TimeLimitExceeded") != 0)
        return MODELVIEW_ERROR;
    /* The second text is in journals of an earlier version. */
    return strstr(member_text(reply, "evalue"), "variables are lost")
                   || strstr(member_text(reply, "evalue"), "variables: lost")
               ? MODELVIEW_LOST
               : MODELVIEW_TIMEOUT;
}

static modelview_status_t status_of(const execution_t *run, const json_t *reply)
{
    static const modelview_status_t statuses[] = {
        [EXECUTION_SENT] = MODELVIEW_QUEUED,
        [EXECUTION_QUEUED] = MODELVIEW_QUEUED,
        [EXECUTION_RUNNING] = MODELVIEW_RUNNING,
        [EXECUTION_ASKING] = MODELVIEW_ASKING,
    };

    return run->state == EXECUTION_DONE || run->state == EXECUTION_REFUSED
               ? status_of_reply(reply)
               : statuses[run->state];
}

/* --- The loss of variables --- */

/* Returns the loss that ended the cell, that the client has not got or that the
 * session has reported with the cell: a session that is gone reports it in its
 * reply's text. The caller owns it. NULL if there is none. */
static json_t *loss_of(const cell_outcome_t *outcome, modelview_status_t status,
                       const json_t *unreported)
{
    if (unreported && status != MODELVIEW_LOST)
        return json_deep_copy(unreported);
    if (outcome->lost)
        return json_incref(outcome->lost);
    if (status != MODELVIEW_LOST)
        return NULL;
    return json_pack("{s:s}", "cause", member_text(outcome->reply, "evalue"));
}

const char *execution_view_status(const execution_view_t *self)
{
    static const char *const names[] = {
        [MODELVIEW_OK] = "ok",         [MODELVIEW_ERROR] = "error",
        [MODELVIEW_QUEUED] = "queued", [MODELVIEW_RUNNING] = "running",
        [MODELVIEW_ASKING] = "input",  [MODELVIEW_TIMEOUT] = "timeout",
        [MODELVIEW_LOST] = "lost",
    };

    return names[self->status];
}

json_t *execution_view_state(const json_t *loss)
{
    static const char *const members[] = {"cause", "at", "more", "incomplete",
                                          "reviving"};
    json_t *names = json_object_get(loss, "names");
    json_t *state = json_pack("{s:b,s:o}", "kept", loss == NULL, "lost",
                              names ? json_incref(names) : json_array());

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(loss, members[i]);
        if (value)
            json_object_set(state, members[i], value);
    }
    return state;
}

/* --- The view --- */

static int64_t duration_of(const cell_outcome_t *outcome)
{
    if (!outcome->began_us)
        return -1;
    return (outcome->ended_us ? outcome->ended_us : clock_wall_us())
           - outcome->began_us;
}

static void take(execution_view_t *self, cell_outcome_t *outcome)
{
    self->outputs = take_ptr(outcome->outputs);
    self->reply = take_ptr(outcome->reply);
    self->metadata = take_ptr(outcome->metadata);
    self->cell = outcome->count;
    self->duration_us = duration_of(outcome);
}

int execution_view_make(const http_t *http, const executions_t *runs,
                        const execution_t *run,
                        const execution_view_options_t *options,
                        execution_view_t *ret_view)
{
    cleanup_cell_outcome cell_outcome_t outcome = {0};
    execution_view_t self = {0};
    modelview_cell_t cell;
    modelview_loss_t loss;

    if (run->state == EXECUTION_REFUSED)
        outcome.reply = json_incref(run->refusal);
    else if (run->number
             && execution_outcome_read(http, runs, run, &outcome) < 0)
        return -ENOENT;
    self.status = status_of(run, outcome.reply);
    self.loss = loss_of(&outcome, self.status, options->loss);
    loss = modelview_read_loss(self.loss);
    take(&self, &outcome);
    cell_outcome_add_pages(self.outputs, self.reply);
    cell = (modelview_cell_t){
        .status = self.status,
        .cell = self.cell,
        .duration_us = self.duration_us,
        .reading = options->reading,
        .is_new_session = options->is_new_session,
        .outputs = self.outputs,
        .reply = self.reply,
        .namespace = json_object_get(json_object_get(self.metadata, "hearth"),
                                     "namespace"),
        .loss = self.loss ? &loss : NULL,
        .hint = run->state < EXECUTION_DONE ? options->hint : NULL,
        .tokens_max = options->tokens_max};
    modelview_make(&cell, &self.view);
    *ret_view = self;
    return 0;
}

/* --- By reference --- */

static int find(const http_t *http, const executions_t *runs, const char *ref,
                long long *ret_cell, size_t *ret_output,
                cell_outcome_t *ret_outcome)
{
    const executions_cell_t *cell;

    if (!modelview_read_ref(ref, ret_cell, ret_output))
        return -EINVAL;
    cell = executions_cell(runs, *ret_cell);
    if (!cell)
        return -ENOENT;
    int r = execution_outcome_read_cell(http, runs, cell, ret_outcome);
    if (r == 0)
        cell_outcome_add_pages(ret_outcome->outputs, ret_outcome->reply);
    return r;
}

/* Appends that there is no such program, and which ones are remembered. */
static void write_missing(const executions_t *runs, uint64_t number,
                          buffer_t *out)
{
    const executions_process_t *all = runs->processes;
    size_t count = runs->process_count;

    process_transcript_write_missing(number, count ? all[0].number : 0,
                                     count ? all[count - 1].number : 0, out);
}

/* Appends a part of what a program beside the kernel has written. */
static int read_process(const http_t *http, const executions_t *runs,
                        uint64_t number, const modelview_range_t *range,
                        buffer_t *out)
{
    cleanup_process_transcript process_transcript_t transcript = {0};
    const executions_process_t *known = executions_process(runs, number);
    process_transcript_place_t place = {
        .folder = runs->folder, .key = http->journal_key, .process = number};
    cleanup_buffer buffer_t gone = BUFFER_EMPTY;
    fault_t fault;
    int r = -ENOENT;

    if (known) {
        place.spans = known->spans;
        place.span_count = known->span_count;
    }
    if (executions_may_have_process(runs, number))
        r = process_transcript_read(&place, &transcript, &fault);
    if (r < 0) {
        write_missing(runs, number, out);
        return -ENOENT;
    }
    process_transcript_write_gone(&transcript, &gone);
    return modelview_read_process(number, buffer_bytes(&transcript.text),
                                  buffer_bytes(&gone), range, out);
}

int execution_view_read(const http_t *http, const executions_t *runs,
                        const char *ref, const modelview_range_t *range,
                        buffer_t *out)
{
    cleanup_cell_outcome cell_outcome_t outcome = {0};
    long long cell = 0;
    size_t output = 0;
    uint64_t process = 0;
    int r;

    if (modelview_read_process_ref(ref, &process))
        return read_process(http, runs, process, range, out);
    r = find(http, runs, ref, &cell, &output, &outcome);
    if (r == -EINVAL)
        buffer_format(out, MODELVIEW_NO_REF, ref);
    else if (r < 0)
        buffer_format(out, MODELVIEW_NO_CELL, cell);
    return r < 0 ? r
                 : modelview_read_output(outcome.outputs, cell, output, range,
                                         out);
}

int execution_view_image(const http_t *http, const executions_t *runs,
                         const char *ref, modelview_image_t *ret_image,
                         json_t **ret_outputs)
{
    cleanup_cell_outcome cell_outcome_t outcome = {0};
    long long cell = 0;
    size_t output = 0;
    int r = find(http, runs, ref, &cell, &output, &outcome);

    if (r < 0)
        return r;
    if (!modelview_image(outcome.outputs, cell, output, ret_image))
        return -ENOENT;
    *ret_outputs = take_ptr(outcome.outputs);
    return 0;
}
