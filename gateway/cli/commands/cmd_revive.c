/* hearth session revive: gives a gone session a fresh kernel and runs its
 * recorded cells again. The outcome of the cells and variables is reported
 * here, in the journal, and to the client whose request comes next. */
#include "gateway/cli/recordings/replay_session.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "gateway/cli/client/variables.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/comparison/replay_choice.h"
#include "notebooks/recording/trace.h"
#include "notebooks/recording/variable_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLIENT    "revive"
#define NAMES_MAX 100 /* of each kind, in the report */
#define CELLS_MAX 50  /* cells that ran differently, in the report */
#define LISTED    20  /* names in a sentence */
#define WHY_MAX   200 /* bytes of a reason, in the report */
/* things from outside, in a sentence */
#define MISSING_LISTED  5
#define MISSING_MAX     30          /* in the report */
#define MISSING_WHY_MAX 400         /* bytes */
#define MISSING_BYTES   (16u << 10) /* of all in the report */

typedef struct {
    replay_session_t session_run;
    recordings_t recorded;
    notebook_t notebook;
    json_t *rows;     /* owned; the recording as a time line */
    json_t *expected; /* owned; variables at its end */
    json_t *present;  /* owned; variables now */
    json_t *odd;      /* owned; cells that were skipped or diverged */
    size_t first;     /* number of the first cell to run */
    bool has_gaps;    /* cells were given up to keep the journal's bound */
    bool is_damaged;  /* the recording ends before its end */
    replay_summary_t summary;
    void (*show)(const replay_step_t *step, void *arg); /* that it begins */
} revive_t;

static void revive_clear(revive_t *self)
{
    json_decref(self->odd);
    json_decref(self->present);
    json_decref(self->expected);
    json_decref(self->rows);
    notebook_clear(&self->notebook);
    recordings_clear(&self->recorded);
    replay_session_clear(&self->session_run);
}

/* ---- which cells made the variables ---- */

/* Finds the first cell to run. A restart on request discarded the variables on
 * purpose; a completed revival counts as all cells before it, and is returned,
 * too (0: there is none). */
static json_int_t find_beginning(const json_t *rows, json_int_t *ret_revival)
{
    json_int_t beginning = 0, reviving = 0;
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *what = member_text(row, "what");
        json_int_t seq = json_integer_value(json_object_get(row, "seq"));

        if (strcmp(what, "restart") == 0
            && strcmp(member_text(row, "reason"), "deleted") == 0)
            beginning = seq;
        else if (strcmp(what, "reviving") == 0)
            reviving = seq;
        else if (strcmp(what, "revived") == 0
                 && json_is_true(json_object_get(row, "is_complete")))
            beginning = *ret_revival = reviving;
    }
    return beginning;
}

static json_int_t seq_of(const notebook_cell_t *cell)
{
    return json_integer_value(notebook_cell_note(cell, "seq"));
}

static size_t find_first(const notebook_t *notebook, json_int_t beginning)
{
    size_t number = 1;

    for (size_t i = 0; i < notebook->count; i++)
        number += notebook->cells[i].kind == NOTEBOOK_CODE
                  && seq_of(&notebook->cells[i]) <= beginning;
    return number;
}

/* Returns true if the revival that ran the cell got to its end. */
static bool is_of_whole_revival(const json_t *rows, json_int_t cell)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *what = member_text(row, "what");

        if (json_integer_value(json_object_get(row, "seq")) < cell)
            continue;
        if (strcmp(what, "reviving") == 0)
            return false;
        if (strcmp(what, "revived") == 0)
            return json_is_true(json_object_get(row, "is_complete"));
    }
    return false;
}

/* Returns true for a cell that a revival ran, and for a note of what it has
 * asked for. */
static bool is_of_revival(const notebook_cell_t *cell)
{
    const json_t *call = notebook_cell_note(cell, "call");

    return json_is_true(notebook_cell_note(cell, "revival"))
           || json_is_true(json_object_get(call, "revival"));
}

/* Returns the text's first bytes, at most `max`, and no part of a character;
 * the caller owns them. */
static char *shorten(const char *text, size_t max)
{
    size_t size = strlen(text);

    return mem_copy(text, size > max ? utf8_cut(text, max) : size);
}

/* Leaves out cells and notes of an unfinished revival: they repeat earlier
 * ones, which are run anyway. Leaves out notes from before a finished one,
 * which has notes of its own of the same; `revival` is its beginning. */
static void leave_out(const notebook_t *notebook, const json_t *rows,
                      json_int_t revival)
{
    for (size_t i = 0; i < notebook->count; i++) {
        const notebook_cell_t *cell = &notebook->cells[i];
        json_t *own = json_object_get(cell->metadata, "hearth");

        if (is_of_revival(cell) && !is_of_whole_revival(rows, seq_of(cell)))
            json_object_set_new(own, REPLAY_BROKEN_OFF, json_true());
        else if (cell->kind != NOTEBOOK_CODE && seq_of(cell) < revival)
            json_object_set_new(own, REPLAY_REPEATED, json_true());
    }
}

static bool has_gaps(const json_t *rows, json_int_t beginning)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (strcmp(member_text(row, "what"), "gap") == 0
            && json_integer_value(json_object_get(row, "seq")) > beginning)
            return true;
    }
    return false;
}

static json_t *add_up(const json_t *rows, json_int_t beginning)
{
    json_t *names = json_object();
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *what = member_text(row, "what");

        if (json_integer_value(json_object_get(row, "seq")) < beginning)
            continue;
        /* Variables of a kernel that died count: they are to be restored. */
        if (strcmp(what, "cell") == 0)
            variable_names_apply(names, json_object_get(row, "namespace"));
    }
    return names;
}

static gateway_exit_t read_recording(revive_t *self,
                                     const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    const char *id = arguments_operand(arguments, 0);
    json_int_t beginning, revival = 0;
    gateway_exit_t status;
    fault_t fault = {0};
    int r;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    status = recordings_find(options, id, &self->recorded);
    if (status == GATEWAY_EXIT_OK)
        status =
            replay_session_read(arguments, self->recorded.id, &self->notebook);
    if (status != GATEWAY_EXIT_OK)
        return status;
    r = trace_read(self->recorded.journal, self->recorded.options.key,
                   &self->rows, &fault);
    if (r < 0 && r != -EBADMSG)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    self->is_damaged =
        r < 0
        || json_object_get(json_object_get(self->notebook.metadata, "hearth"),
                           "damage");
    beginning = find_beginning(self->rows, &revival);
    leave_out(&self->notebook, self->rows, revival);
    self->has_gaps = has_gaps(self->rows, beginning);
    self->first = find_first(&self->notebook, beginning);
    self->expected = add_up(self->rows, beginning);
    self->present = json_object();
    self->odd = json_array();
    return GATEWAY_EXIT_OK;
}

/* ---- running them ---- */

static gateway_exit_t start_session(revive_t *self)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_open(true, &self->session_run.management);

    if (status == GATEWAY_EXIT_OK)
        status = management_client_call(
            self->session_run.management, "session_revive",
            json_pack("{s:s}", "id", self->recorded.id), &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    self->session_run.session = json_incref(json_object_get(reply, "session"));
    status = replay_session_answer_tools(&self->session_run, &self->notebook);
    return status == GATEWAY_EXIT_OK
               ? replay_session_connect(&self->session_run, CLIENT, true)
               : status;
}

static void keep_odd(revive_t *self, const replay_step_t *step)
{
    cleanup_free char *why = shorten(step->why, WHY_MAX);

    json_array_append_new(
        self->odd,
        json_pack("{s:I, s:s, s:s, s:s}", "number", (json_int_t) step->number,
                  "id", step->cell->id, "verdict",
                  replay_session_verdict(step->verdict), "why", why));
}

static bool on_step(replay_step_t *step, void *arg)
{
    revive_t *self = arg;

    replay_session_print(&self->session_run, step);
    if (!step->is_late)
        variable_names_apply(
            self->present, json_object_get(step->result.figures, "namespace"));
    if (step->why && step->verdict != REPLAY_WAITING
        && json_array_size(self->odd) < CELLS_MAX)
        keep_odd(self, step);
    return !replay_session_is_interrupted();
}

static void on_missing(const replay_missing_t *missing, void *arg)
{
    revive_t *self = arg;

    replay_session_print_missing(&self->session_run, missing);
}

static void on_begin(const replay_step_t *step, void *arg)
{
    revive_t *self = arg;

    self->show(step, arg);
    replay_session_keep_there(&self->session_run, &self->notebook, step->cell);
}

static int run_cells(revive_t *self, const arguments_t *arguments,
                     fault_t *fault)
{
    cell_executor_t runner = cell_runner_methods(self->session_run.runner);
    replay_options_t options =
        replay_session_options(&self->session_run, arguments);

    options.on_step = on_step;
    options.on_missing = on_missing;
    self->show = options.on_begin;
    options.on_begin = on_begin;
    options.arg = self;
    options.first = self->first;
    options.is_revival = true;
    return replay_run(&self->notebook, &runner, &options, &self->summary,
                      fault);
}

/* ---- what became of it ---- */

static void write_names(const char *what, const json_t *list, buffer_t *out)
{
    const json_t *item;
    size_t i, count = json_array_size(list);

    if (!count)
        return;
    buffer_format(out, "; %s: ", what);
    json_array_foreach(list, i, item)
    {
        if (i == LISTED) {
            buffer_format(out, " and %zu more", count - i);
            return;
        }
        buffer_format(out, "%s%s", i ? ", " : "",
                      json_is_string(item) ? json_string_value(item)
                                           : member_text(item, "name"));
    }
}

static void write_odd(const json_t *odd, const char *verdict, buffer_t *out)
{
    const json_t *cell;
    bool is_first = true;
    size_t i;

    json_array_foreach(odd, i, cell)
    {
        if (strcmp(member_text(cell, "verdict"), verdict) != 0)
            continue;
        buffer_format(out, "%s%.0f", is_first ? " (cell " : ", ",
                      member_number(cell, "number", 0));
        is_first = false;
    }
    if (!is_first)
        buffer_text(out, ")");
}

static void shorten_member(json_t *row, const char *key)
{
    cleanup_free char *text = shorten(member_text(row, key), MISSING_WHY_MAX);

    if (*text)
        json_object_set_new(row, key, json_string(text));
}

/* Returns the first rows, shortened, for which a report has room; the caller
 * owns them. */
static json_t *first_missing(const json_t *missing)
{
    json_t *first = json_array();
    size_t bytes = 0;

    for (size_t i = 0; i < json_array_size(missing) && i < MISSING_MAX; i++) {
        json_auto_t *row = json_copy(json_array_get(missing, i));

        shorten_member(row, "what");
        shorten_member(row, "why");
        bytes += json_dumpb(row, NULL, 0, 0);
        if (bytes > MISSING_BYTES)
            break;
        json_array_append(first, row);
    }
    return first;
}

/* `missing`: the first of `count`. */
static void write_missing(const json_t *missing, size_t count, buffer_t *out)
{
    size_t size = json_array_size(missing), i;

    for (i = 0; i < size && i < MISSING_LISTED; i++) {
        const json_t *one = json_array_get(missing, i);
        const char *what = member_text(one, "what");

        buffer_format(out, "; missing from outside: %s%s%s", what,
                      *what ? ": " : "", member_text(one, "why"));
    }
    if (i < count)
        buffer_format(out, "; and %zu more from outside are missing",
                      count - i);
}

static json_t *make_sentence(const revive_t *self, const json_t *variables,
                             const json_t *missing, bool is_complete)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    const replay_summary_t *summary = &self->summary;

    buffer_format(&out,
                  "this session was gone and has been revived: %zu cells ran "
                  "again, %zu of them with another outcome",
                  summary->same + summary->different, summary->different);
    write_odd(self->odd, "different", &out);
    buffer_format(&out, ", %zu were skipped", summary->skipped);
    write_odd(self->odd, "skipped", &out);
    if (!is_complete)
        buffer_text(&out, self->is_damaged
                              ? "; the recording is damaged, and cells after "
                                "the damage are not known"
                              : "; it was ended before the last cell");
    if (self->has_gaps)
        buffer_text(&out, "; older cells are not in the recording any more");
    write_names("variables back", json_object_get(variables, "back"), &out);
    write_names("back, but different", json_object_get(variables, "different"),
                &out);
    write_names("missing", json_object_get(variables, "missing"), &out);
    write_missing(missing, json_array_size(self->session_run.missing), &out);
    buffer_text(&out, "; the workspace is the same folder as before");
    return json_stringn((const char *) out.data, out.size);
}

static json_t *make_report(const revive_t *self, bool is_complete)
{
    json_t *variables =
        variable_names_compare(self->expected, self->present, NAMES_MAX);
    const replay_summary_t *summary = &self->summary;
    char now[CLOCK_ISO_SIZE];
    json_t *missing = first_missing(self->session_run.missing);

    clock_iso(clock_wall_us(), now);
    return json_pack(
        "{s:b, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:O, s:o, s:o, s:s, s:o}",
        "is_complete", is_complete, "has_gaps", self->has_gaps, "session",
        self->recorded.id, "at", now, "ran",
        (json_int_t) summary->same + (json_int_t) summary->different, "same",
        (json_int_t) summary->same, "different",
        (json_int_t) summary->different, "skipped",
        (json_int_t) summary->skipped, "cells", self->odd, "missing", missing,
        "variables", variables, "workspace", "reused", "sentence",
        make_sentence(self, variables, missing, is_complete));
}

static bool is_whole(const json_t *report)
{
    const json_t *variables = json_object_get(report, "variables");

    return json_is_true(json_object_get(report, "is_complete"))
           && json_is_false(json_object_get(report, "has_gaps"))
           && !json_integer_value(json_object_get(report, "different"))
           && !json_array_size(json_object_get(report, "missing"))
           && !json_array_size(json_object_get(variables, "different"))
           && !json_array_size(json_object_get(variables, "missing"));
}

static gateway_exit_t print_outcome(revive_t *self, json_t *report)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_call(
        self->session_run.management, "session_revived",
        json_pack("{s:s, s:O}", "id", self->recorded.id, "report", report),
        &reply);

    if (self->session_run.is_json)
        json_print(report);
    else
        puts(terminal_cell(member_text(report, "sentence"), 4000));
    if (status != GATEWAY_EXIT_OK)
        return status;
    return is_whole(report) ? GATEWAY_EXIT_OK : GATEWAY_EXIT_FAILED;
}

static int revive(const arguments_t *arguments)
{
    CLEANUP(revive_clear) revive_t self = {0};
    json_auto_t *report = NULL;
    fault_t fault = {0};
    gateway_exit_t status;
    bool is_complete;
    int r;

    self.session_run.is_json = arguments_has(arguments, "json");
    if ((status = read_recording(&self, arguments)) != GATEWAY_EXIT_OK
        || (status = start_session(&self)) != GATEWAY_EXIT_OK)
        return status;
    r = run_cells(&self, arguments, &fault);
    replay_session_release_tools(&self.session_run);
    if (r < 0)
        complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    is_complete =
        r == 0 && !replay_session_is_interrupted() && !self.is_damaged;
    report = make_report(&self, is_complete);
    return print_outcome(&self, report);
}

static const flag_t flags[] = {
    {"all", 'a', NULL, "also run cells with effects outside the session"},
    FLAG_JSON,
    {0},
};

const command_t revive_commands[] = {
    {
        .name = "session revive",
        .operands = "ID",
        .help = "restart a session that is gone, from its recording",
        .more = "It keeps its id, ports and workspace; its cells are run "
                "again.\nExit status: 0 all outputs are as recorded, 1 some "
                "differ.",
        .flags = flags,
        .run = revive,
    },
    {0},
};
