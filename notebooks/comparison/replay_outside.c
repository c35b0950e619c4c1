/* See replay_outside.h. */
#include "notebooks/comparison/replay_outside.h"

#include "base/buffer.h"
#include "notebooks/comparison/replay_cause.h"
#include "notebooks/comparison/replay_choice.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <string.h>

#define CALL      "call"    /* a note's, of a client */
#define CALLS     "tools"   /* a cell's */
#define OWN_CALLS "hearth:" /* begins the names of the gateway's */

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

    buffer_text(&text, member_text(arguments, "url"));
    json_array_foreach(names, i, name)
        buffer_format(&text, "%s%s", i ? ", " : "",
                      json_is_string(name) ? json_string_value(name) : "");
    buffer_append(&text, "", 1);
    return (char *) text.data;
}

/* Returns true if a call is left out. A revival that was made again is left out
 * like its cells. */
static bool skips_call(const notebook_cell_t *note,
                       const replay_options_t *options)
{
    const json_t *call = notebook_cell_note(note, CALL);
    bool is_revival = json_is_true(json_object_get(call, "revival"));

    if (options->is_revival)
        return json_is_true(notebook_cell_note(note, REPLAY_BROKEN_OFF))
               || json_is_true(notebook_cell_note(note, REPLAY_REPEATED));
    return is_revival;
}

int replay_bring(const cell_executor_t *runner, const replay_step_t *step,
                 const replay_options_t *options, replay_summary_t *summary,
                 fault_t *fault)
{
    const json_t *call = notebook_cell_note(step->cell, CALL);
    cleanup_free char *thing = NULL, *why = NULL;
    int r;

    if (!json_is_object(call) || !runner->methods->bring
        || skips_call(step->cell, options))
        return 0;
    r = runner->methods->bring(runner->self, call, &why, fault);
    if (r < 0)
        return r;
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
        if (strncmp(member_text(call, "name"), OWN_CALLS, strlen(OWN_CALLS))
            == 0)
            return true;
    }
    return false;
}

/* Returns true if the list has the text at `index` also before that, as of code
 * that asked twice for one thing. */
static bool is_said_before(const json_t *missing, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (json_equal(json_array_get(missing, i),
                       json_array_get(missing, index)))
            return true;
    return false;
}

void replay_look_for_refusal(const replay_step_t *step,
                             const replay_options_t *options,
                             replay_summary_t *summary)
{
    static const char *const enames[] = {"PackagesError", "FetchError", NULL};
    const json_t *missing = json_object_get(step->result.figures, "missing");
    const json_t *said;
    size_t i;

    if (step->verdict == REPLAY_SKIPPED || !has_own_calls(step->cell))
        return;
    /* The session has noted it, also if the code has caught the error. */
    json_array_foreach(missing, i, said)
    {
        if (json_is_string(said) && !is_said_before(missing, i))
            report_missing(&(replay_missing_t){.number = step->number,
                                               .thing = "",
                                               .why = json_string_value(said)},
                           options, summary);
    }
    if (json_array_size(missing))
        return;
    for (const char *const *ename = enames; *ename; ename++) {
        const char *why = replay_error_text(step->result.outputs, *ename);

        if (*why && !*replay_error_text(step->cell->outputs, *ename))
            report_missing(&(replay_missing_t){.number = step->number,
                                               .thing = "",
                                               .why = why},
                           options, summary);
    }
}
