/* hearth notebook replay, hearth notebook bisect: run a notebook's cells again
 * in a fresh session. Replay compares the outputs with the recorded ones;
 * bisect evaluates an expression after each cell. */
#include "gateway/cli/recordings/replay_session.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/cli/core/option_types.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/comparison/replay_choice.h"
#include "notebooks/comparison/replay_expression.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ERROR_WIDTH 300

/* ---- replay ---- */

static bool on_step(replay_step_t *step, void *arg)
{
    replay_session_print(arg, step);
    return !replay_session_is_interrupted();
}

static void on_missing(const replay_missing_t *missing, void *arg)
{
    replay_session_print_missing(arg, missing);
}

static void print_replay(const replay_session_t *self,
                         const replay_summary_t *summary, bool is_kept)
{
    const char *id = member_text(self->session, "id");

    if (self->is_json) {
        json_auto_t *document =
            json_pack("{s:s?, s:O, s:O, s:s*, s:I, s:I, s:I, s:I, s:I}",
                      "session", is_kept ? id : NULL, "cells", self->cells,
                      "missing", self->missing, "preinstalled",
                      self->preinstalled, "same", (json_int_t) summary->same,
                      "different", (json_int_t) summary->different,
                      "not_recorded", (json_int_t) summary->unrecorded,
                      "skipped", (json_int_t) summary->skipped,
                      "first_different", (json_int_t) summary->first_different);
        json_print(document);
        return;
    }
    printf("%zu same, %zu different, ", summary->same, summary->different);
    if (summary->unrecorded)
        printf("%zu not recorded, ", summary->unrecorded);
    printf("%zu skipped\n", summary->skipped);
    if (summary->missing)
        printf("%zu missing from outside\n", summary->missing);
    if (summary->first_different)
        printf("the first difference is at cell %zu\n",
               summary->first_different);
    if (is_kept)
        printf("the session is kept: hearth attach %s\n", id);
}

static int find_last(const arguments_t *arguments, const notebook_t *notebook,
                     size_t *ret_last)
{
    const char *until = arguments_value(arguments, "until");
    fault_t fault = {0};

    if (until && replay_find(notebook, until, ret_last, &fault) < 0)
        return usage_error(arguments, "--until: %s", fault.text);
    return GATEWAY_EXIT_OK;
}

static gateway_exit_t begin(replay_session_t *self,
                            const arguments_t *arguments,
                            const notebook_t *notebook, const char *client)
{
    const char *limit = arguments_value(arguments, "timeout");
    const char *operand = arguments_operand(arguments, 0);
    cleanup_free char *name =
        mem_format("%s of %.60s", client, path_name(operand));
    gateway_exit_t status;

    self->is_json = arguments_has(arguments, "json");
    if (limit && !option_types_seconds(limit, &self->cell_seconds))
        return usage_error(arguments, "--timeout: %s is not a duration", limit);
    status = replay_session_create(self, arguments, notebook, name);
    if (status == GATEWAY_EXIT_OK)
        status = replay_session_answer_tools(self, notebook);
    if (status == GATEWAY_EXIT_OK)
        status = replay_session_connect(self, client, false);
    if (status == GATEWAY_EXIT_OK)
        replay_session_compare_preinstalled(self, arguments, notebook);
    return status;
}

static gateway_exit_t run_all(replay_session_t *self,
                              const arguments_t *arguments,
                              const notebook_t *notebook, size_t last)
{
    cell_executor_t runner = cell_runner_methods(self->runner);
    replay_options_t options = replay_session_options(self, arguments);
    bool is_kept = arguments_has(arguments, "keep");
    replay_summary_t summary;
    fault_t fault = {0};
    int r;

    options.on_step = on_step;
    options.on_missing = on_missing;
    options.arg = self;
    options.last = last;
    options.stops_there = arguments_has(arguments, "stop-on-difference");
    r = replay_run(notebook, &runner, &options, &summary, &fault);
    print_replay(self, &summary, is_kept);
    if (is_kept)
        replay_session_release_tools(self);
    else
        replay_session_delete(self);
    if (r < 0)
        return complain(r == -ESHUTDOWN    ? GATEWAY_EXIT_GONE
                        : r == -ECONNRESET ? GATEWAY_EXIT_UNREACHABLE
                                           : GATEWAY_EXIT_FAILED,
                        "%s", fault.text);
    return summary.different || summary.missing ? GATEWAY_EXIT_FAILED
                                                : GATEWAY_EXIT_OK;
}

static int replay(const arguments_t *arguments)
{
    cleanup_notebook notebook_t notebook = {0};
    cleanup_replay_session replay_session_t self = {0};
    size_t last = 0;
    int status = replay_session_read(arguments, arguments_operand(arguments, 0),
                                     &notebook);

    if (status == GATEWAY_EXIT_OK)
        status = find_last(arguments, &notebook, &last);
    if (status == GATEWAY_EXIT_OK)
        status = begin(&self, arguments, &notebook, "replay");
    if (status != GATEWAY_EXIT_OK) {
        replay_session_delete(&self);
        return status;
    }
    return run_all(&self, arguments, &notebook, last);
}

/* ---- bisect ---- */

typedef struct {
    replay_session_t *session_run; /* borrowed */
    cell_executor_t runner;
    const char *expression;
    bool has_held;    /* after one of the cells */
    size_t failed_at; /* number of the cell; 0: none */
    char *id;         /* owned; of that cell */
    char *source;     /* owned; its first line */
    char *error;      /* owned; what the expression raised there, or NULL */
    char *last_error; /* owned; what it raised last */
    int r;            /* of the runner */
    fault_t fault;
} bisect_t;

static void bisect_clear(bisect_t *self)
{
    free(self->last_error);
    free(self->error);
    free(self->source);
    free(self->id);
}

static char *not_compared(const json_t *recorded, const json_t *now)
{
    (void) recorded;
    (void) now;
    return NULL;
}

/* Looks at the expression after a cell. Before it has held once, it may raise,
 * for example because a name does not exist yet. False counts as an answer. */
static bool on_probe(replay_step_t *step, void *arg)
{
    bisect_t *self = arg;
    cleanup_free char *raised = replay_session_error(step->result.outputs);
    cleanup_free char *error = NULL;
    cleanup_free char *said = NULL;

    if (step->verdict == REPLAY_SKIPPED) {
        replay_session_print(self->session_run, step);
        return !replay_session_is_interrupted();
    }
    self->r =
        replay_evaluate(&self->runner, self->expression, &error, &self->fault);
    if (self->r < -1)
        return false;
    said = mem_format("%s%sthe expression %s", raised ? raised : "",
                      raised ? "; " : "",
                      self->r == 1   ? "is true"
                      : self->r == 0 ? "is false"
                                     : error);
    replay_session_print_as(self->session_run, step, raised ? "raised" : "ran",
                            said);
    if (self->r == 1)
        self->has_held = true;
    if (self->r == 0 || (self->r < 0 && self->has_held)) {
        self->failed_at = step->number;
        self->id = mem_text(step->cell->id);
        self->error = take_ptr(error);
        return false;
    }
    free(self->last_error);
    self->last_error = take_ptr(error);
    return !replay_session_is_interrupted();
}

static void on_missing_of_probe(const replay_missing_t *missing, void *arg)
{
    const bisect_t *self = arg;

    replay_session_print_missing(self->session_run, missing);
}

static void print_bisect_json(const bisect_t *self)
{
    json_auto_t *document = json_pack(
        "{s:s, s:b, s:o, s:s?, s:s?, s:O, s:O}", "expression", self->expression,
        "held", self->has_held, "failed_at",
        self->failed_at ? json_integer((json_int_t) self->failed_at)
                        : json_null(),
        "id", self->id, "error",
        self->failed_at ? self->error : self->last_error, "cells",
        self->session_run->cells, "missing", self->session_run->missing);

    json_print(document);
}

static gateway_exit_t print_bisect(const bisect_t *self)
{
    if (self->r < -1)
        return complain(GATEWAY_EXIT_GONE, "%s", self->fault.text);
    if (self->session_run->is_json)
        print_bisect_json(self);
    else if (self->failed_at) {
        printf("the expression fails first after cell %zu (%s)\n",
               self->failed_at, terminal_cell(self->id, 64));
        if (self->error)
            printf("  %s\n", terminal_cell(self->error, ERROR_WIDTH));
    } else if (self->has_held)
        puts("the expression holds to the end");
    if (self->failed_at || self->has_held)
        return self->failed_at ? GATEWAY_EXIT_FAILED : GATEWAY_EXIT_OK;
    return complain(
        GATEWAY_EXIT_USAGE, "the expression had no value after any cell: %s",
        self->last_error ? terminal_cell(self->last_error, ERROR_WIDTH)
                         : "there are none");
}

/* Checks the expression before any cell is run. */
static gateway_exit_t check_expression(const replay_session_t *session_run,
                                       const arguments_t *arguments)
{
    cell_executor_t runner = cell_runner_methods(session_run->runner);
    cleanup_free char *error = NULL;
    fault_t fault = {0};
    int r = replay_check_expression(&runner, arguments_value(arguments, "expr"),
                                    &error, &fault);

    if (r < -1)
        return complain(GATEWAY_EXIT_GONE, "%s", fault.text);
    return r == 1 ? GATEWAY_EXIT_OK
                  : usage_error(arguments, "--expr: %s",
                                terminal_cell(error, ERROR_WIDTH));
}

static gateway_exit_t probe(replay_session_t *session_run,
                            const arguments_t *arguments,
                            const notebook_t *notebook)
{
    CLEANUP(bisect_clear)
    bisect_t self = {.session_run = session_run,
                     .runner = cell_runner_methods(session_run->runner),
                     .expression = arguments_value(arguments, "expr")};
    replay_options_t options = replay_session_options(session_run, arguments);
    bool is_kept = arguments_has(arguments, "keep");
    replay_summary_t summary;
    gateway_exit_t status;
    fault_t fault = {0};

    options.compare = not_compared;
    options.on_step = on_probe;
    options.on_missing = on_missing_of_probe;
    options.arg = &self;
    status = replay_run(notebook, &self.runner, &options, &summary, &fault) < 0
                 ? complain(GATEWAY_EXIT_FAILED, "%s", fault.text)
                 : print_bisect(&self);
    if (!is_kept)
        replay_session_delete(session_run);
    else if (!session_run->is_json)
        printf("the session is kept: hearth attach %s\n",
               member_text(session_run->session, "id"));
    return status;
}

static int bisect(const arguments_t *arguments)
{
    cleanup_notebook notebook_t notebook = {0};
    cleanup_replay_session replay_session_t self = {0};
    int status;

    if (!arguments_value(arguments, "expr"))
        return usage_error(arguments, "--expr EXPRESSION is missing");
    status = replay_session_read(arguments, arguments_operand(arguments, 0),
                                 &notebook);
    if (status == GATEWAY_EXIT_OK)
        status = begin(&self, arguments, &notebook, "bisect");
    if (status == GATEWAY_EXIT_OK)
        status = check_expression(&self, arguments);
    if (status != GATEWAY_EXIT_OK) {
        replay_session_delete(&self);
        return status;
    }
    return probe(&self, arguments, &notebook);
}

#define FLAG_PROFILE                                                           \
    {                                                                          \
        "profile", 'p', "NAME", "which Python, instead of the recording's"     \
    }
#define FLAG_WORKSPACE                                                         \
    {                                                                          \
        "workspace", 'w', "DIR", "a folder whose files the cells find, copied" \
    }
#define FLAG_TIMEOUT                                                           \
    {                                                                          \
        "timeout", 't', "TIME", "a cell that runs longer is interrupted"       \
    }
#define FLAG_ALL                                                               \
    {                                                                          \
        "all", 'a', NULL, "also run cells with effects outside the session"    \
    }
#define FLAG_KEEP                                                              \
    {                                                                          \
        "keep", 'k', NULL, "leave the session alive, to look into"             \
    }

static const flag_t replay_flags[] = {
    {"until", 'u', "CELL", "the last cell: its number or its id"},
    {"stop-on-difference", 's', NULL, "stop after the first difference"},
    FLAG_KEEP,
    FLAG_TIMEOUT,
    FLAG_ALL,
    FLAG_PROFILE,
    FLAG_WORKSPACE,
    FLAG_JSON,
    {0},
};

static const flag_t bisect_flags[] = {
    {"expr", 'e', "EXPRESSION",
     "Python expression that should be true after each cell"},
    FLAG_KEEP,
    FLAG_TIMEOUT,
    FLAG_ALL,
    FLAG_PROFILE,
    FLAG_WORKSPACE,
    FLAG_JSON,
    {0},
};

const command_t replay_commands[] = {
    {
        .name = "notebook replay",
        .operands = "ID|FILE",
        .help = "run a notebook again in a fresh session and compare outputs",
        .more =
            "Exit status: 0 all outputs are the same, 1 some differ, or "
            "something from\noutside cannot be had again. A name with a slash "
            "or a dot is a file, any\nother is a session.",
        .flags = replay_flags,
        .run = replay,
    },
    {
        .name = "notebook bisect",
        .operands = "ID|FILE",
        .help = "find the first cell after which an expression fails",
        .more = "Runs each cell once, in a fresh session. Exit status: 0 the "
                "expression holds\nto the end, 1 a cell was found.",
        .flags = bisect_flags,
        .run = bisect,
    },
    {0},
};
