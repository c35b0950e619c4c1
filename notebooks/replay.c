/* See replay.h. It owns nothing: the runner is the caller's, and so is the
 * session that it runs in. */
#include "notebooks/replay.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/mask.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define WAIT_MS      200   /* between two looks at the caller's wish */
#define INTERRUPT_MS 10000 /* as long may an interrupted cell take */
#define EXPRESSION   "hearth"
#define OUTSIDE      "outside_effects"
#define OUTSIDE_TAG  "hearth.outside_effects"
#define NOBODY_THERE (-ESHUTDOWN)

static const char *const comments[] = {"skip-on-revive", "outside-effects"};

void replay_step_clear(replay_step_t *step)
{
    free(step->why);
    runner_result_clear(&step->result);
    *step = (replay_step_t){0};
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* ---- which cells ---- */

static size_t count_code(const notebook_t *notebook)
{
    size_t count = 0;

    for (size_t i = 0; i < notebook->count; i++)
        count += notebook->cells[i].kind == NOTEBOOK_CODE;
    return count;
}

int replay_find(const notebook_t *notebook, const char *name,
                size_t *ret_number, fault_t *fault)
{
    size_t count = count_code(notebook), number = 0;
    char *end;
    unsigned long wanted = strtoul(name, &end, 10);

    if (isdigit((unsigned char) *name) && !*end && wanted > 0
        && wanted <= count) {
        *ret_number = wanted;
        return 0;
    }
    for (size_t i = 0; i < notebook->count; i++) {
        number += notebook->cells[i].kind == NOTEBOOK_CODE;
        if (strcmp(notebook->cells[i].id, name) == 0
            && notebook->cells[i].kind == NOTEBOOK_CODE) {
            *ret_number = number;
            return 0;
        }
    }
    return fault_set(fault, ENOENT,
                     "there is no cell %s: a cell is named by its id or by "
                     "its number, 1 to %zu",
                     name, count);
}

static bool has_tag(const notebook_cell_t *cell)
{
    const json_t *tag;
    size_t i;

    json_array_foreach(json_object_get(cell->metadata, "tags"), i, tag)
    {
        if (json_is_string(tag)
            && strcmp(json_string_value(tag), OUTSIDE_TAG) == 0)
            return true;
    }
    return json_is_true(notebook_cell_note(cell, OUTSIDE));
}

/* A line of its own: "# hearth: skip-on-revive". */
static bool is_marking(const char *line)
{
    size_t size;

    line += strspn(line, " \t");
    if (*line++ != '#')
        return false;
    line += strspn(line, " \t");
    if (strncmp(line, "hearth:", 7) != 0)
        return false;
    line += 7 + strspn(line + 7, " \t");
    size = strcspn(line, " \t\r\n");
    for (size_t i = 0; i < sizeof comments / sizeof *comments; i++)
        if (strlen(comments[i]) == size
            && strncmp(comments[i], line, size) == 0)
            return true;
    return false;
}

static bool has_outside_effects(const notebook_cell_t *cell)
{
    const char *line = cell->source;

    if (has_tag(cell))
        return true;
    while (line && *line) {
        if (is_marking(line))
            return true;
        line = strchr(line, '\n');
        if (line)
            line++;
    }
    return false;
}

/* The name of the error that is recorded, or "". */
static const char *recorded_error(const notebook_cell_t *cell)
{
    const char *noted = json_string_value(notebook_cell_note(cell, "ename"));
    const json_t *output;
    size_t i;

    if (noted)
        return noted;
    json_array_foreach(cell->outputs, i, output)
    {
        if (strcmp(text_of(output, "output_type"), "error") == 0)
            return text_of(output, "ename");
    }
    return "";
}

static const char *status_of(const notebook_cell_t *cell)
{
    const char *status = json_string_value(notebook_cell_note(cell, "status"));

    return status ? status : "";
}

const char *replay_skips(const notebook_cell_t *cell,
                         const replay_options_t *options)
{
    static const struct {
        const char *ename, *why;
    } bad_ends[] = {
        {"KernelDied", "the kernel died in it"},
        {"SessionGone", "the session was ended in it"},
        {"TimeLimitExceeded", "it had reached its time limit"},
        {"KeyboardInterrupt", "it had been interrupted"},
    };
    const char *status = status_of(cell);
    const char *ename = recorded_error(cell);

    if (options->is_revival
        && json_is_true(notebook_cell_note(cell, REPLAY_BROKEN_OFF)))
        return "it belongs to a revival that was broken off";
    if (options->is_revival && json_is_true(notebook_cell_note(cell, "seed")))
        return "it belongs to the profile's seed, which each new kernel runs";
    if (json_is_true(notebook_cell_note(cell, NOTEBOOK_REFUSED)))
        return "it had been refused and never ran";
    if (strcmp(status, "aborted") == 0)
        return "it had not been run: one before it failed";
    if (strcmp(status, "unanswered") == 0)
        return "it had not come to its end";
    if (!options->runs_all && has_outside_effects(cell))
        return "it is marked as having effects outside the session";
    for (size_t i = 0; i < sizeof bad_ends / sizeof *bad_ends; i++)
        if (options->is_revival && strcmp(ename, bad_ends[i].ename) == 0)
            return bad_ends[i].why;
    return NULL;
}

/* ---- one cell ---- */

static int give_up(const runner_t *runner, fault_t *fault)
{
    cleanup_runner_result runner_result_t ignored = {0};
    int64_t deadline = clock_monotonic_ms() + INTERRUPT_MS;
    int r = runner->methods->interrupt(runner->self, fault);

    while (r == 0 && clock_monotonic_ms() < deadline)
        r = runner->methods->wait(runner->self, WAIT_MS, &ignored, fault);
    return fault_set(fault, EINTR, "interrupted");
}

static int wait_for_end(const runner_t *runner, replay_step_t *step,
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
    step->why = options->compare(step->cell->outputs, step->result.outputs);
    step->verdict = step->why ? REPLAY_DIFFERENT : REPLAY_SAME;
}

/* One that was masked on its way into a file is none. */
static json_t *find_answer(const json_t *input, const replay_options_t *options)
{
    json_t *value = json_object_get(input, "value");

    if (json_is_string(value) && !strstr(json_string_value(value), MASK_TEXT))
        return json_incref(value);
    return options->answer ? options->answer(
               text_of(input, "prompt"),
               json_is_true(json_object_get(input, "password")))
                           : NULL;
}

/* The answers that the cell was given; null where nobody gave one: there it
 * was interrupted. NULL: one is not known. */
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

static int run_cell(const runner_t *runner, replay_step_t *step,
                    const json_t *answers, const replay_options_t *options,
                    fault_t *fault)
{
    const runner_request_t request = {
        .code = step->cell->source,
        .size = step->cell->source_size,
        .answers = answers,
        .time_limit =
            json_number_value(notebook_cell_note(step->cell, "time_limit"))};
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

static int do_step(const runner_t *runner, replay_step_t *step,
                   const replay_options_t *options, fault_t *fault)
{
    const json_t *inputs = notebook_cell_note(step->cell, "inputs");
    const char *why = replay_skips(step->cell, options);
    json_auto_t *answers = NULL;

    if (!why && json_is_array(inputs)
        && !(answers = find_answers(inputs, options)))
        why = "it asked for what is not in the recording: a password, or an "
              "answer that is masked";
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
} waiting_t;

static void waiting_clear(waiting_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        replay_step_clear(&self->steps[i]);
    free(self->steps);
}

static void keep_waiting(waiting_t *self, replay_step_t *step)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : 16;
        self->steps =
            mem_resize(self->steps, self->capacity * sizeof *self->steps);
    }
    self->steps[self->count++] = *step;
    *step = (replay_step_t){0};
}

static void end_waiting(waiting_t *self, const replay_options_t *options,
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

/* False: the run ends here. */
static bool take_step(replay_step_t *step, const replay_options_t *options,
                      waiting_t *waiting, replay_summary_t *summary)
{
    bool goes_on;

    count_step(summary, step);
    goes_on = options->on_step(step, options->arg)
              && !(options->stops_there && summary->different);
    if (step->verdict == REPLAY_WAITING)
        keep_waiting(waiting, step);
    return goes_on;
}

int replay_run(const notebook_t *notebook, const runner_t *runner,
               const replay_options_t *options, replay_summary_t *ret_summary,
               fault_t *fault)
{
    CLEANUP(waiting_clear) waiting_t waiting = {0};
    size_t count = count_code(notebook), number = 0;
    size_t last = options->last ? options->last : count;
    bool goes_on = true;
    int r = 0;

    *ret_summary = (replay_summary_t){0};
    for (size_t i = 0; goes_on && i < notebook->count && number < last; i++) {
        cleanup_replay_step replay_step_t step = {.cell = &notebook->cells[i],
                                                  .count = count};

        if (step.cell->kind != NOTEBOOK_CODE || ++number < options->first)
            continue;
        step.number = number;
        r = do_step(runner, &step, options, fault);
        goes_on = r == 0 && take_step(&step, options, &waiting, ret_summary);
    }
    end_waiting(&waiting, options, ret_summary);
    return r;
}

/* ---- expressions ---- */

/* The user_expression's value is the text of a bool. */
static int read_truth(const runner_result_t *result, char **ret_error)
{
    const json_t *found = json_object_get(
        json_object_get(result->reply, "user_expressions"), EXPRESSION);
    const char *text = text_of(json_object_get(found, "data"), "text/plain");

    if (strcmp(text_of(found, "status"), "ok") == 0)
        return strcmp(text, "True") == 0;
    *ret_error =
        mem_format("%s: %s", text_of(found, "ename"), text_of(found, "evalue"));
    return -1;
}

int replay_evaluate(const runner_t *runner, const char *expression,
                    char **ret_error, fault_t *fault)
{
    cleanup_free char *truth = mem_format("bool((\n%s\n))", expression);
    const runner_request_t request = {.expression = truth};
    cleanup_runner_result runner_result_t result = {0};
    int r = runner->methods->execute(runner->self, &request, fault);

    while (r == 0)
        r = runner->methods->wait(runner->self, WAIT_MS, &result, fault);
    /* -1 is an answer here. */
    return r < 0 ? NOBODY_THERE : read_truth(&result, ret_error);
}
