/* See replay.h. It owns nothing: the runner is the caller's, and so is the
 * session that it runs in. */
#include "notebooks/comparison/replay.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/comparison/replay_cause.h"
#include "notebooks/comparison/replay_choice.h"
#include "notebooks/comparison/replay_outside.h"
#include "notebooks/formats/redact.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <string.h>

#define WAIT_MS 200 /* between two calls of on_wait */
/* how long an interrupted cell may take to end */
#define INTERRUPT_MS 10000

void replay_step_clear(replay_step_t *step)
{
    free(step->why);
    cell_executor_result_clear(&step->result);
    *step = (replay_step_t){0};
}

/* ---- one cell ---- */

static int give_up(const cell_executor_t *runner, fault_t *fault)
{
    cleanup_cell_executor_result cell_executor_result_t ignored = {0};
    int64_t deadline = clock_monotonic_ms() + INTERRUPT_MS;
    int r = runner->methods->interrupt(runner->self, fault);

    while (r == 0 && clock_monotonic_ms() < deadline)
        r = runner->methods->wait(runner->self, WAIT_MS, &ignored, fault);
    return fault_set(fault, EINTR, "interrupted");
}

static int wait_for_end(const cell_executor_t *runner, replay_step_t *step,
                        const replay_options_t *options, fault_t *fault)
{
    int r;

    for (;;) {
        r = runner->methods->wait(runner->self, WAIT_MS, &step->result, fault);
        if (r != 0)
            return r < 0 ? r : 0;
        if (options->on_wait && !options->on_wait(step, options->arg))
            return give_up(runner, fault);
    }
}

static void judge(replay_step_t *step, const replay_options_t *options)
{
    free(step->why);
    step->why = NULL;
    if (!replay_is_recorded(step->cell)) {
        step->verdict = REPLAY_UNRECORDED;
        return;
    }
    step->why = options->compare(step->cell->outputs, step->result.outputs);
    step->verdict = step->why ? REPLAY_DIFFERENT : REPLAY_SAME;
}

/* Returns the shorter time limit, if there are two. */
static double time_limit(const notebook_cell_t *cell,
                         const replay_options_t *options)
{
    double recorded = json_number_value(notebook_cell_note(cell, "time_limit"));

    if (!options->time_limit || (recorded && recorded < options->time_limit))
        return recorded;
    return options->time_limit;
}

/* Returns the recorded answer; NULL if it was redacted when the file was
 * written. */
static json_t *find_answer(const json_t *input, const replay_options_t *options)
{
    json_t *value = json_object_get(input, "value");

    if (json_is_string(value) && !strstr(json_string_value(value), REDACT_TEXT))
        return json_incref(value);
    return options->answer ? options->answer(
               member_text(input, "prompt"),
               json_is_true(json_object_get(input, "password")))
                           : NULL;
}

/* Returns the answers that the cell was given, with null where it was
 * interrupted instead; NULL if an answer is unknown. */
static json_t *find_answers(const json_t *inputs,
                            const replay_options_t *options)
{
    json_auto_t *answers = json_array();
    const json_t *input;
    size_t i;

    json_array_foreach(inputs, i, input)
    {
        json_t *answer = json_is_true(json_object_get(input, "answered"))
                             ? find_answer(input, options)
                             : json_null();
        if (!answer)
            return NULL;
        json_array_append_new(answers, answer);
    }
    return json_incref(answers);
}

static int run_cell(const cell_executor_t *runner, replay_step_t *step,
                    const json_t *answers, const replay_options_t *options,
                    fault_t *fault)
{
    const cell_executor_request_t request = {
        .code = step->cell->source,
        .size = step->cell->source_size,
        .answers = answers,
        .time_limit = time_limit(step->cell, options)};
    int64_t began = clock_monotonic_ms();
    int r;

    if (options->on_begin)
        options->on_begin(step, options->arg);
    r = runner->methods->execute(runner->self, &request, fault);
    if (r < 0 || (r = wait_for_end(runner, step, options, fault)) < 0)
        return r;
    step->seconds = (double) (clock_monotonic_ms() - began) / 1000;
    judge(step, options);
    if (step->why && step->result.is_open)
        step->verdict = REPLAY_WAITING;
    return 0;
}

static int do_step(const cell_executor_t *runner, replay_step_t *step,
                   const replay_options_t *options, fault_t *fault)
{
    const json_t *inputs = notebook_cell_note(step->cell, "inputs");
    const char *why = replay_skips(step->cell, options);
    json_auto_t *answers = NULL;
    int r;

    /* This kernel began without variables when it was recorded, so it does
     * now. */
    if (!options->is_revival
        && json_is_true(notebook_cell_note(step->cell, NOTEBOOK_FRESH))
        && (r = runner->methods->restart(runner->self, fault)) < 0)
        return r;

    if (!why && json_is_array(inputs)
        && !(answers = find_answers(inputs, options)))
        why = "it asked for an answer that is not in the recording: a "
              "password, or a redacted one";
    if (!why)
        return run_cell(runner, step, answers, options, fault);
    step->verdict = REPLAY_SKIPPED;
    step->why = mem_text(why);
    return 0;
}

static void count_step(replay_summary_t *summary, const replay_step_t *step)
{
    switch (step->verdict) {
    case REPLAY_SAME:
        summary->same++;
        break;
    case REPLAY_DIFFERENT:
        summary->different++;
        if (!summary->first_different
            || step->number < summary->first_different)
            summary->first_different = step->number;
        break;
    case REPLAY_UNRECORDED:
        summary->unrecorded++;
        break;
    case REPLAY_SKIPPED:
        summary->skipped++;
        break;
    case REPLAY_WAITING:
        break;
    }
}

/* Steps whose displays may still change. */
typedef struct {
    replay_step_t *steps; /* owned */
    size_t count, capacity;
} open_displays_t;

static void waiting_clear(open_displays_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        replay_step_clear(&self->steps[i]);
    free(self->steps);
}

static void keep_waiting(open_displays_t *self, replay_step_t *step)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : 16;
        self->steps =
            mem_resize(self->steps, self->capacity * sizeof *self->steps);
    }
    self->steps[self->count++] = *step;
    *step = (replay_step_t){0};
}

static void end_waiting(open_displays_t *self, const replay_options_t *options,
                        replay_summary_t *summary)
{
    for (size_t i = 0; i < self->count; i++) {
        replay_step_t *step = &self->steps[i];

        judge(step, options);
        step->is_late = true;
        count_step(summary, step);
        (void) options->on_step(step, options->arg);
    }
}

/* Returns false if the run ends here. */
static bool take_step(replay_step_t *step, const replay_options_t *options,
                      open_displays_t *waiting, replay_summary_t *summary)
{
    bool goes_on;

    count_step(summary, step);
    goes_on = options->on_step(step, options->arg);
    replay_look_for_refusal(step, options, summary);
    if (options->stops_there && (summary->different || summary->missing))
        goes_on = false;
    if (step->verdict == REPLAY_WAITING)
        keep_waiting(waiting, step);
    return goes_on;
}

int replay_run(const notebook_t *notebook, const cell_executor_t *runner,
               const replay_options_t *options, replay_summary_t *ret_summary,
               fault_t *fault)
{
    CLEANUP(waiting_clear) open_displays_t waiting = {0};
    size_t count = replay_count(notebook), number = 0;
    cleanup_free bool *has_differed = mem_new(count + 1);
    size_t last = options->last ? options->last : count;
    bool goes_on = true;
    int r = 0;

    *ret_summary = (replay_summary_t){0};
    for (size_t i = 0;
         goes_on && i < notebook->count && (number < last || !options->last);
         i++) {
        cleanup_replay_step replay_step_t step = {.cell = &notebook->cells[i],
                                                  .count = count};

        if (step.cell->kind != NOTEBOOK_CODE)
            r = replay_bring(runner, &step, options, ret_summary, fault);
        if (r < 0)
            break;
        if (step.cell->kind != NOTEBOOK_CODE || ++number < options->first)
            continue;
        step.number = number;
        r = do_step(runner, &step, options, fault);
        replay_explain(&step, notebook, has_differed);
        has_differed[number] = step.verdict == REPLAY_DIFFERENT;
        goes_on = r == 0 && take_step(&step, options, &waiting, ret_summary);
    }
    end_waiting(&waiting, options, ret_summary);
    return r;
}
