/* See replay.h. It owns nothing: the runner is the caller's, and so is the
 * session that it runs in. */
#include "notebooks/comparison/replay.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/formats/redact.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define WAIT_MS 200 /* between two calls of on_wait */
/* how long an interrupted cell may take to end */
#define INTERRUPT_MS       10000
#define EXPRESSION         "hearth"
#define PLACE              "<expression>"
#define OUTSIDE            "outside_effects"
#define OUTSIDE_TAG        "hearth.outside_effects"
#define SKIP_TAG           "skip-execution" /* nbclient's */
#define KERNEL_UNREACHABLE (-ESHUTDOWN)

#define CALL      "call"    /* a note's, of a client */
#define CALLS     "tools"   /* a cell's */
#define OWN_CALLS "hearth:" /* begins the names of the gateway's */

static const char *const comments[] = {"skip-on-revive", "outside-effects"};

void replay_step_clear(replay_step_t *step)
{
    free(step->why);
    cell_executor_result_clear(&step->result);
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

static bool has_tag(const notebook_cell_t *cell, const char *name)
{
    const json_t *tag;
    size_t i;

    json_array_foreach(json_object_get(cell->metadata, "tags"), i, tag)
    {
        if (json_is_string(tag) && strcmp(json_string_value(tag), name) == 0)
            return true;
    }
    return false;
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

    if (has_tag(cell, OUTSIDE_TAG)
        || json_is_true(notebook_cell_note(cell, OUTSIDE)))
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
        {"OutputLimitExceeded", "it had passed its output limit"},
        {"KeyboardInterrupt", "it had been interrupted"},
    };
    const char *status = status_of(cell);
    const char *ename = recorded_error(cell);

    if (options->is_revival
        && json_is_true(notebook_cell_note(cell, REPLAY_BROKEN_OFF)))
        return "it belongs to a revival that was broken off";
    if (!options->is_revival
        && json_is_true(notebook_cell_note(cell, "revival")))
        return "a revival had run it again";
    if ((options->is_revival || options->has_seed)
        && json_is_true(notebook_cell_note(cell, "seed")))
        return "it belongs to the profile's seed, which each new kernel runs";
    if (json_is_true(notebook_cell_note(cell, NOTEBOOK_REFUSED)))
        return "it had been refused and never ran";
    if (strcmp(status, "aborted") == 0)
        return "it had not been run: one before it failed";
    if (strcmp(status, "unanswered") == 0)
        return "it had not finished";
    if (has_tag(cell, SKIP_TAG))
        return "it has the tag " SKIP_TAG;
    if (!options->runs_all && has_outside_effects(cell))
        return "it is marked as having effects outside the session";
    for (size_t i = 0; i < sizeof bad_ends / sizeof *bad_ends; i++)
        if (strcmp(ename, bad_ends[i].ename) == 0)
            return bad_ends[i].why;
    return NULL;
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

/* Returns true if the cell's outputs were removed from the file, or it was
 * never run. */
static bool is_recorded(const notebook_cell_t *cell)
{
    return *status_of(cell) || cell->count || json_array_size(cell->outputs);
}

static void judge(replay_step_t *step, const replay_options_t *options)
{
    free(step->why);
    step->why = NULL;
    if (!is_recorded(step->cell)) {
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
               text_of(input, "prompt"),
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

static bool is_word(char c)
{
    return isalnum((unsigned char) c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = text; (at = strstr(at, word)); at += size)
        if ((at == text || !is_word(at[-1])) && !is_word(at[size]))
            return true;
    return false;
}

/* The text of the first error of that name; "" if no output is one. */
static const char *error_text(const json_t *outputs, const char *ename)
{
    const json_t *output;
    size_t i;

    json_array_foreach(outputs, i, output)
    {
        if (strcmp(text_of(output, "ename"), ename) == 0)
            return text_of(output, "evalue");
    }
    return "";
}

/* The name that a cell did not find, to be freed, or NULL. */
static char *missing_name(const json_t *outputs)
{
    const char *text = error_text(outputs, "NameError");

    return strncmp(text, "name '", 6) == 0
               ? mem_copy(text + 6, strcspn(text + 6, "'"))
               : NULL;
}

/* The file of its workspace that a cell did not find, to be freed, or NULL. */
static char *missing_file(const json_t *outputs)
{
    static const char before[] = "No such file or directory: '";
    static const char workspace[] = "/workspace/";
    const char *at = strstr(error_text(outputs, "FileNotFoundError"), before);

    if (!at)
        return NULL;
    at += sizeof before - 1;
    if (strncmp(at, workspace, sizeof workspace - 1) == 0)
        at += sizeof workspace - 1;
    return *at && *at != '/' && *at != '\'' ? mem_copy(at, strcspn(at, "'"))
                                            : NULL;
}

/* The number of the first cell before the step that differed and has the word;
 * 0 if none has. */
static size_t find_cause(const replay_step_t *step, const notebook_t *notebook,
                         const bool *has_differed, const char *word)
{
    size_t number = 0;

    for (size_t i = 0; i < notebook->count && number + 1 < step->number; i++)
        if (notebook->cells[i].kind == NOTEBOOK_CODE && has_differed[++number]
            && has_word(notebook->cells[i].source, word))
            return number;
    return 0;
}

static void add_reason(replay_step_t *step, const char *reason)
{
    cleanup_free char *why = step->why;

    step->why = mem_format("%s; %s", why, reason);
}

/* Names the cause of a failure: a name or a file that is missing now occurs in
 * the source of an earlier cell that differed, or the recording had the file.
 */
static void explain(replay_step_t *step, const notebook_t *notebook,
                    const bool *has_differed)
{
    cleanup_free char *name = missing_name(step->result.outputs);
    cleanup_free char *file = missing_file(step->result.outputs);
    cleanup_free char *reason = NULL;
    size_t cause = 0;

    if (step->verdict != REPLAY_DIFFERENT)
        return;
    if (name || file)
        cause = find_cause(step, notebook, has_differed, name ? name : file);
    if (cause)
        reason = mem_format("it follows from cell %zu", cause);
    else if (file && !*recorded_error(step->cell))
        reason = mem_text("the recorded session had this file: give a folder "
                          "that has it with -w");
    if (reason)
        add_reason(step, reason);
}

/* ---- what came from outside ---- */

static void report_missing(const replay_missing_t *missing,
                           const replay_options_t *options,
                           replay_summary_t *summary)
{
    summary->missing++;
    if (options->on_missing)
        options->on_missing(missing, options->arg);
}

/* Returns what a request was about; the caller owns it. */
static char *name_thing(const json_t *call)
{
    const json_t *arguments = json_object_get(call, "arguments");
    const json_t *names = json_object_get(arguments, "names"), *name;
    buffer_t text = BUFFER_EMPTY;
    size_t i;

    buffer_text(&text, text_of(arguments, "url"));
    json_array_foreach(names, i, name)
        buffer_format(&text, "%s%s", i ? ", " : "",
                      json_is_string(name) ? json_string_value(name) : "");
    buffer_append(&text, "", 1);
    return (char *) text.data;
}

/* A revival that was made again is left out like its cells. */
static bool skips_call(const notebook_cell_t *note,
                       const replay_options_t *options)
{
    const json_t *call = notebook_cell_note(note, CALL);
    bool is_revival = json_is_true(json_object_get(call, "revival"));

    if (options->is_revival)
        return json_is_true(notebook_cell_note(note, REPLAY_BROKEN_OFF));
    return is_revival;
}

/* Makes the request of a client again that a note has; returns -EINTR if that
 * was interrupted. */
static int bring(const cell_executor_t *runner, const replay_step_t *step,
                 const replay_options_t *options, replay_summary_t *summary,
                 fault_t *fault)
{
    const json_t *call = notebook_cell_note(step->cell, CALL);
    cleanup_free char *thing = NULL, *why = NULL;

    if (!json_is_object(call) || !runner->methods->bring
        || skips_call(step->cell, options))
        return 0;
    why = runner->methods->bring(runner->self, call);
    if (options->on_wait && !options->on_wait(step, options->arg))
        return fault_set(fault, EINTR, "interrupted");
    if (!why)
        return 0;
    thing = name_thing(call);
    report_missing(&(replay_missing_t){.thing = thing, .why = why}, options,
                   summary);
    return 0;
}

/* Returns true if the cell had made such calls of the gateway's. */
static bool has_own_calls(const notebook_cell_t *cell)
{
    const json_t *call;
    size_t i;

    json_array_foreach(notebook_cell_note(cell, CALLS), i, call)
    {
        if (strncmp(text_of(call, "name"), OWN_CALLS, strlen(OWN_CALLS)) == 0)
            return true;
    }
    return false;
}

/* Reports that a cell did not get what it had got. */
static void look_for_refusal(const replay_step_t *step,
                             const replay_options_t *options,
                             replay_summary_t *summary)
{
    static const char *const enames[] = {"PackagesError", "FetchError", NULL};

    if (step->verdict == REPLAY_SKIPPED || !has_own_calls(step->cell))
        return;
    for (const char *const *ename = enames; *ename; ename++) {
        const char *why = error_text(step->result.outputs, *ename);

        if (*why && !*error_text(step->cell->outputs, *ename))
            report_missing(&(replay_missing_t){.number = step->number,
                                               .thing = "",
                                               .why = why},
                           options, summary);
    }
}

/* Returns false if the run ends here. */
static bool take_step(replay_step_t *step, const replay_options_t *options,
                      waiting_t *waiting, replay_summary_t *summary)
{
    bool goes_on;

    count_step(summary, step);
    goes_on = options->on_step(step, options->arg);
    look_for_refusal(step, options, summary);
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
    CLEANUP(waiting_clear) waiting_t waiting = {0};
    size_t count = count_code(notebook), number = 0;
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

        if (step.cell->kind != NOTEBOOK_CODE && number + 1 >= options->first)
            r = bring(runner, &step, options, ret_summary, fault);
        if (r < 0)
            break;
        if (step.cell->kind != NOTEBOOK_CODE || ++number < options->first)
            continue;
        step.number = number;
        r = do_step(runner, &step, options, fault);
        explain(&step, notebook, has_differed);
        has_differed[number] = step.verdict == REPLAY_DIFFERENT;
        goes_on = r == 0 && take_step(&step, options, &waiting, ret_summary);
    }
    end_waiting(&waiting, options, ret_summary);
    return r;
}

/* ---- expressions ---- */

/* The text as Python's: JSON's strings are. */
static char *quote(const char *text)
{
    json_auto_t *string = json_string(text);

    return json_dumps(string, JSON_ENCODE_ANY);
}

/* The user_expression's value is the text of a bool. */
static int read_truth(const cell_executor_result_t *result, char **ret_error)
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

static int ask(const cell_executor_t *runner, const char *expression,
               char **ret_error, fault_t *fault)
{
    const cell_executor_request_t request = {.expression = expression};
    cleanup_cell_executor_result cell_executor_result_t result = {0};
    int r = runner->methods->execute(runner->self, &request, fault);

    while (r == 0)
        r = runner->methods->wait(runner->self, WAIT_MS, &result, fault);
    /* -1 is a regular result here: the expression raised. */
    return r < 0 ? KERNEL_UNREACHABLE : read_truth(&result, ret_error);
}

int replay_check_expression(const cell_executor_t *runner,
                            const char *expression, char **ret_error,
                            fault_t *fault)
{
    cleanup_free char *wrapped = mem_format("(\n%s\n)", expression);
    cleanup_free char *quoted = quote(wrapped);
    cleanup_free char *code = mem_format(
        "compile(%s, '" PLACE "', 'eval') is not None", quoted ? quoted : "0");
    char *place;
    int r = ask(runner, code, ret_error, fault);

    /* The line number is one of our wrapper and means nothing to the user. */
    if (r == -1 && (place = strstr(*ret_error, " (" PLACE)))
        *place = '\0';
    return r;
}

int replay_evaluate(const cell_executor_t *runner, const char *expression,
                    char **ret_error, fault_t *fault)
{
    cleanup_free char *truth = mem_format("bool((\n%s\n))", expression);

    return ask(runner, truth, ret_error, fault);
}
