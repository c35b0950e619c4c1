/* See execution_view.h. */
#include "gateway/http/executions/execution_view.h"

#include "base/clock.h"
#include "gateway/http/executions/execution_outcome.h"
#include "notebooks/formats/output_list.h"

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
    const char *name = text_member(reply, "ename");

    if (strcmp(text_member(reply, "status"), "ok") == 0)
        return MODELVIEW_OK;
    if (strcmp(name, "KernelDied") == 0 || strcmp(name, "SessionGone") == 0)
        return MODELVIEW_LOST;
    if (strcmp(name, "TimeLimitExceeded") != 0)
        return MODELVIEW_ERROR;
    /* The second text is in journals of an earlier version. */
    return strstr(text_member(reply, "evalue"), "variables are lost")
                   || strstr(text_member(reply, "evalue"), "variables: lost")
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

/* Returns true if the views of this execution report the loss: it is the first
 * that began after the loss, or the kernel ended during it. */
static bool is_first_after_loss(executions_t *runs, const execution_t *run,
                                modelview_status_t status)
{
    const kernel_loss_t *loss = &runs->losses.loss;
    bool is_after = loss->fresh_seq && run->begun_seq > loss->fresh_seq;
    bool is_hit =
        status == MODELVIEW_LOST && loss->seq && loss->seq > run->begun_seq;

    if (!is_after && !is_hit)
        return false;
    if (runs->reported_seq == loss->seq && runs->reported_run != run->number)
        return is_hit;
    if (run->state == EXECUTION_DONE) {
        runs->reported_seq = loss->seq;
        runs->reported_run = run->number;
    }
    return true;
}

/* Returns the loss. Until the journal has the end of the kernel, the reason is
 * the reply's text. */
static modelview_loss_t loss_of(executions_t *runs, const json_t *reply,
                                bool is_known)
{
    const kernel_loss_t *loss = &runs->losses.loss;

    if (!is_known)
        return (modelview_loss_t){.cause = text_member(reply, "evalue"),
                                  .are_files_kept = true};
    return (modelview_loss_t){.wall_us = loss->wall_us,
                              .cause = loss->cause,
                              .names = loss->names,
                              .are_files_kept = true};
}

/* Returns the loss for programs, for the caller. */
static json_t *loss_json(const modelview_loss_t *loss)
{
    json_t *json =
        json_pack("{s:s,s:o}", "cause", loss->cause ? loss->cause : "", "lost",
                  loss->names ? json_deep_copy(loss->names) : json_array());
    char at[CLOCK_ISO_SIZE];

    if (loss->wall_us) {
        clock_iso(loss->wall_us, at);
        json_object_set_new(json, "at", json_string(at));
    }
    return json;
}

json_t *execution_view_state(const execution_view_t *self)
{
    json_t *state = json_pack("{s:b}", "kept", self->loss == NULL);

    if (self->loss)
        json_object_update(state, self->loss);
    else
        json_object_set_new(state, "lost", json_array());
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

int execution_view_make(const http_t *http, executions_t *runs,
                        const execution_t *run,
                        const execution_view_options_t *options,
                        execution_view_t *ret_view)
{
    cleanup_cell_outcome cell_outcome_t outcome = {0};
    execution_view_t self = {0};
    modelview_cell_t cell;
    modelview_loss_t loss;
    bool is_reported;

    if (run->state == EXECUTION_REFUSED)
        outcome.reply = json_incref(run->refusal);
    else if (run->number
             && execution_outcome_read(http, runs, run, &outcome) < 0)
        return -ENOENT;
    take(&self, &outcome);
    cell_outcome_add_pages(self.outputs, self.reply);
    self.status = status_of(run, self.reply);
    is_reported = is_first_after_loss(runs, run, self.status);
    loss = loss_of(runs, self.reply, is_reported);
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
        .loss = is_reported || self.status == MODELVIEW_LOST ? &loss : NULL,
        .hint = run->state < EXECUTION_DONE ? options->hint : NULL,
        .tokens_max = options->tokens_max};
    modelview_make(&cell, &self.view);
    self.loss = cell.loss ? loss_json(cell.loss) : NULL;
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

int execution_view_read(const http_t *http, const executions_t *runs,
                        const char *ref, const modelview_range_t *range,
                        buffer_t *out)
{
    cleanup_cell_outcome cell_outcome_t outcome = {0};
    long long cell = 0;
    size_t output = 0;
    int r = find(http, runs, ref, &cell, &output, &outcome);

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
