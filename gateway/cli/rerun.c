/* See rerun.h. */
#include "gateway/cli/rerun.h"

#include "base/buffer.h"
#include "gateway/cli/answer.h"
#include "gateway/cli/recorded.h"
#include "gateway/cli/talk.h"
#include "gateway/cli/terminal.h"
#include "notebooks/compare.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_WIDTH   50  /* of a cell's first line */
#define WHY_WIDTH    400 /* of what differs */
#define PROMPT_WIDTH 200
#define CLEAR_LINE   "\r\033[K"

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

void rerun_clear(rerun_t *self)
{
    json_decref(self->cells);
    cell_runner_destroy(&self->runner);
    json_decref(self->session);
    mgmt_destroy(&self->mgmt);
}

/* ---- the session ---- */

static void add_text(const arguments_t *arguments, const char *flag,
                     json_t *content)
{
    const char *value = arguments_value(arguments, flag);

    if (value)
        json_object_set_new(content, flag, json_string(value));
}

static gateway_exit_t add_workspace(const arguments_t *arguments,
                                    json_t *content)
{
    const char *folder = arguments_value(arguments, "workspace");
    cleanup_free char *path = folder ? realpath(folder, NULL) : NULL;

    if (folder && !path)
        return usage_error(arguments, "--workspace: there is no folder %s",
                           folder);
    if (path)
        json_object_set_new(content, "workspace", json_string(path));
    return GATEWAY_EXIT_OK;
}

gateway_exit_t rerun_create(rerun_t *self, const arguments_t *arguments,
                            const char *name)
{
    json_auto_t *content = json_pack("{s:s}", "name", name);
    json_auto_t *reply = NULL;
    gateway_exit_t status;

    if (!content)
        content = json_object(); /* a file's name need not be UTF-8 */
    add_text(arguments, "profile", content);
    status = add_workspace(arguments, content);
    if (status == GATEWAY_EXIT_OK)
        status = mgmt_open(true, &self->mgmt);
    if (status == GATEWAY_EXIT_OK)
        status =
            mgmt_call(self->mgmt, "session_create", take_ptr(content), &reply);
    if (status == GATEWAY_EXIT_OK)
        self->session = json_incref(json_object_get(reply, "session"));
    return status;
}

gateway_exit_t rerun_connect(rerun_t *self, const char *client, bool is_revival)
{
    fault_t fault = {0};

    self->cells = json_array();
    if (cell_runner_new(self->mgmt, self->session, client, is_revival,
                        &self->runner, &fault)
        < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    talk_catch_signals(on_signal);
    return GATEWAY_EXIT_OK;
}

void rerun_delete(rerun_t *self)
{
    json_auto_t *reply = NULL;
    const char *id = member_text(self->session, "id");

    if (self->mgmt && *id)
        (void) mgmt_ask(self->mgmt, "session_delete",
                        json_pack("{s:s}", "id", id), &reply);
}

/* ---- the notebook ---- */

static gateway_exit_t read_session(const options_t *options, const char *id,
                                   notebook_t *ret_notebook)
{
    cleanup_recorded recorded_t session = {0};
    gateway_exit_t status = recorded_find(options, id, &session);
    fault_t fault = {0};
    int r;

    if (status != GATEWAY_EXIT_OK)
        return status;
    /* What is run again is what was run: nobody is shown it here. */
    session.options.mask = NULL;
    r = recording_notebook(session.journal, &session.options, ret_notebook,
                           &fault);
    if (r == -EBADMSG)
        complain(GATEWAY_EXIT_OK, "%s; what stands before is run", fault.text);
    else if (r < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

gateway_exit_t rerun_read(const arguments_t *arguments, const char *name,
                          notebook_t *ret_notebook)
{
    cleanup_options options_t *options = arguments_options(arguments);
    fault_t fault = {0};

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    if (!recorded_is_file(name))
        return read_session(options, name, ret_notebook);
    if (notebook_read(name, ret_notebook, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* ---- while it runs ---- */

static const char *first_line(const notebook_cell_t *cell)
{
    static char line[4 * TEXT_WIDTH];
    const char *source = cell->source + strspn(cell->source, " \t\r\n");

    snprintf(line, sizeof line, "%.*s", (int) strcspn(source, "\r\n"), source);
    return terminal_cell(line, TEXT_WIDTH);
}

/* On standard error, so that what is printed can be kept. */
static void on_begin(const replay_step_t *step, void *arg)
{
    (void) arg;
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, CLEAR_LINE "%zu/%zu  %s", step->number, step->count,
            first_line(step->cell));
    fflush(stderr);
}

static bool on_wait(const replay_step_t *step, void *arg)
{
    (void) step;
    (void) arg;
    return !interrupted;
}

static json_t *answer(const char *prompt, bool is_password)
{
    cleanup_answer answer_t *person = answer_new(false);
    cleanup_buffer buffer_t line = BUFFER_EMPTY;

    if (!person || !isatty(STDERR_FILENO))
        return NULL;
    fprintf(stderr, CLEAR_LINE "the cell asks: %s",
            terminal_cell(prompt, PROMPT_WIDTH));
    fflush(stderr);
    answer_begin(person, is_password);
    return answer_wait(person, &line)
               ? json_stringn((const char *) line.data, line.size)
               : NULL;
}

bool rerun_is_interrupted(void)
{
    return interrupted != 0;
}

const char *rerun_verdict(replay_verdict_t verdict)
{
    static const char *const names[] = {
        [REPLAY_SAME] = "same",
        [REPLAY_DIFFERENT] = "different",
        [REPLAY_SKIPPED] = "skipped",
        [REPLAY_WAITING] = "waiting",
    };

    return names[verdict];
}

static json_t *make_row(const replay_step_t *step)
{
    json_t *row =
        json_pack("{s:I, s:s, s:s, s:f}", "number", (json_int_t) step->number,
                  "id", step->cell->id, "verdict", rerun_verdict(step->verdict),
                  "seconds", step->seconds);

    if (step->why)
        json_object_set_new(row, "why", json_string(step->why));
    return row;
}

void rerun_print(rerun_t *self, const replay_step_t *step)
{
    if (step->verdict == REPLAY_WAITING)
        return;
    json_array_append_new(self->cells, make_row(step));
    if (isatty(STDERR_FILENO))
        fputs(CLEAR_LINE, stderr);
    if (self->is_json)
        return;
    printf("%4zu/%zu  %-9s  %8.3f s  %s\n", step->number, step->count,
           rerun_verdict(step->verdict), step->seconds, first_line(step->cell));
    if (step->why)
        printf("        %s\n", terminal_cell(step->why, WHY_WIDTH));
    fflush(stdout);
}

static char *compare(const json_t *recorded, const json_t *now)
{
    const compare_t rules = COMPARE_DEFAULT;
    cleanup_difference difference_t difference = {0};

    if (compare_outputs(&rules, recorded, now, &difference))
        return NULL;
    return mem_format("%s: %s, recorded is %s", difference.what,
                      difference.right ? difference.right : "nothing",
                      difference.left ? difference.left : "nothing");
}

replay_options_t rerun_options(const arguments_t *arguments)
{
    return (replay_options_t){
        .compare = compare,
        .on_begin = on_begin,
        .on_wait = on_wait,
        .answer = answer,
        .runs_all = arguments_has(arguments, "all"),
    };
}
