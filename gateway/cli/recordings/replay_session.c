/* See replay_session.h. */
#include "gateway/cli/recordings/replay_session.h"

#include "base/buffer.h"
#include "gateway/cli/client/file_copy.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/outside_client.h"
#include "gateway/cli/client/session_creation.h"
#include "gateway/cli/core/prompt_input.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/preinstalled_change.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/comparison/compare.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"
#include "protocol/jspan.h"
#include "protocol/jspan_write.h"
#include "workspace/name.h"

#include <errno.h>
#include <fts.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_WIDTH         50  /* of a cell's first line */
#define WHY_WIDTH          400 /* columns of a difference */
#define PROMPT_WIDTH       200
#define PREINSTALLED_WIDTH 2000
#define CLEAR_LINE         "\r\033[K"

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

void replay_session_clear(replay_session_t *self)
{
    json_decref(self->missing);
    json_decref(self->cells);
    cell_runner_destroy(&self->runner);
    json_decref(self->session);
    free(self->preinstalled);
    management_client_destroy(&self->management);
}

/* ---- the session ---- */

static gateway_exit_t check_workspace(const arguments_t *arguments)
{
    const char *folder = arguments_value(arguments, "workspace");
    struct stat status;

    if (folder && (stat(folder, &status) < 0 || !S_ISDIR(status.st_mode)))
        return usage_error(arguments, "--workspace: there is no folder %s",
                           folder);
    return GATEWAY_EXIT_OK;
}

static gateway_exit_t make_folder(const replay_session_t *self,
                                  const char *name)
{
    json_auto_t *reply = NULL;

    return management_client_call(self->management, "files_make_folder",
                                  json_pack("{s:s, s:s, s:b}", "id",
                                            member_text(self->session, "id"),
                                            "path", name, "parents", 0),
                                  &reply);
}

/* Copies an entry; its name in the workspace begins at `top`. */
static gateway_exit_t copy_entry(const replay_session_t *self,
                                 const FTSENT *entry, size_t top)
{
    cleanup_free char *name = name_text(entry->fts_path + top);

    if (entry->fts_info == FTS_D)
        return make_folder(self, name);
    if (entry->fts_info == FTS_F)
        return file_copy_in(self->management, member_text(self->session, "id"),
                            entry->fts_accpath, name, true);
    if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR
        || entry->fts_info == FTS_NS)
        return complain(GATEWAY_EXIT_FAILED, "%s: %s",
                        terminal_cell(entry->fts_path, 200),
                        strerror(entry->fts_errno));
    if (entry->fts_info != FTS_DP)
        complain(GATEWAY_EXIT_OK, "%s: no regular file, left out",
                 terminal_cell(entry->fts_path, 200));
    return GATEWAY_EXIT_OK;
}

/* Copies the files of a folder: the cells do not change it, and find the same
 * in it each time. */
static gateway_exit_t fill_workspace(const replay_session_t *self,
                                     const arguments_t *arguments)
{
    const char *folder = arguments_value(arguments, "workspace");
    cleanup_free char *path = folder ? mem_format("%s/.", folder) : NULL;
    char *paths[] = {path, NULL};
    gateway_exit_t status = GATEWAY_EXIT_OK;
    FTS *tree = path ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    FTSENT *entry;

    while (tree && status == GATEWAY_EXIT_OK && (entry = fts_read(tree)))
        if (entry->fts_level > 0)
            status = copy_entry(self, entry, strlen(path) + 1);
    if (tree)
        fts_close(tree);
    return status;
}

/* Returns true if the gateway has the profile; false if it does not say so. */
static bool has_profile(management_client_t *management, const char *name)
{
    json_auto_t *reply = NULL;

    return management_client_ask(management, "gateway_info", json_object(),
                                 &reply)
               == GATEWAY_EXIT_OK
           && json_tree_find(json_object_get(reply, "profiles"), "name", name);
}

/* Adds the profile: that of --profile, else that of the recording. */
static void add_profile(replay_session_t *self, const arguments_t *arguments,
                        const notebook_t *notebook, json_t *content)
{
    const char *wanted = arguments_value(arguments, "profile");
    const char *recorded =
        member_text(json_object_get(notebook->metadata, "hearth"), "profile");

    if (wanted)
        json_object_set_new(content, "profile", json_string(wanted));
    else if (*recorded && has_profile(self->management, recorded))
        json_object_set_new(content, "profile", json_string(recorded));
    else if (*recorded)
        complain(GATEWAY_EXIT_OK,
                 "it was recorded with the profile %s, which this gateway does "
                 "not have; its first one is used (--profile names another)",
                 terminal_cell(recorded, 64));
    self->has_seed = *recorded && (!wanted || strcmp(wanted, recorded) == 0)
                     && json_object_get(content, "profile");
}

gateway_exit_t replay_session_create(replay_session_t *self,
                                     const arguments_t *arguments,
                                     const notebook_t *notebook,
                                     const char *name)
{
    json_auto_t *content = json_pack("{s:s}", "name", name);
    json_auto_t *reply = NULL;
    gateway_exit_t status;

    if (!content)
        content = json_object(); /* a file's name need not be UTF-8 */
    status = check_workspace(arguments);
    if (status == GATEWAY_EXIT_OK)
        status = management_client_open(true, &self->management);
    if (status != GATEWAY_EXIT_OK)
        return status;
    add_profile(self, arguments, notebook, content);
    json_object_set_new(content, "held",
                        json_boolean(!arguments_has(arguments, "keep")));
    status = session_creation_ask(self->management, take_ptr(content), &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    self->session = json_incref(json_object_get(reply, "session"));
    return fill_workspace(self, arguments);
}

static bool goes_on(void *arg)
{
    (void) arg;
    return !interrupted;
}

gateway_exit_t replay_session_connect(replay_session_t *self,
                                      const char *client, bool is_revival)
{
    const cell_runner_how_t how = {.management = self->management,
                                   .session = self->session,
                                   .client = client,
                                   .is_revival = is_revival,
                                   .goes_on = goes_on};
    fault_t fault = {0};

    self->cells = json_array();
    self->missing = json_array();
    if (cell_runner_new(&how, &self->runner, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    kernel_client_catch_signals(on_signal);
    management_client_look(self->management, goes_on, NULL);
    return GATEWAY_EXIT_OK;
}

/* ---- host tools ---- */

/* Returns true if the text is one JSON value, which cannot end the object that
 * it is written into. */
static bool is_value(const char *text)
{
    jspan_t whole;
    fault_t ignored;

    return jspan_check_portable(text, strlen(text), &whole, &ignored) == 0;
}

/* Returns true if a call ended with an answer, and not because its code did not
 * wait for it. */
static bool has_answer(const json_t *call)
{
    static const char *const ends[] = {"cancelled", "kernel", "lost", NULL};
    const json_t *error = json_object_get(call, "error");
    const char *reason = member_text(error, "reason");
    const char *result = member_text(call, "result");

    for (const char *const *end = ends; *end; end++)
        if (strcmp(*end, reason) == 0)
            return false;
    return is_value(member_text(call, "arguments"))
           && (*result ? is_value(result) : json_is_object(error));
}

/* Adds the answered calls of a cell. Arguments and results are JSON text. The
 * first `there` of them need not be made again. */
static void write_calls(const notebook_cell_t *cell, size_t there,
                        buffer_t *out)
{
    json_t *call;
    size_t i;

    json_array_foreach(notebook_cell_note(cell, "tools"), i, call)
    {
        const char *result = member_text(call, "result");
        cleanup_free char *error =
            json_dumps(json_object_get(call, "error"), JSON_COMPACT);

        if (!has_answer(call))
            continue;
        jspan_write_object(out, NULL);
        jspan_write_text(out, "name", member_text(call, "name"));
        jspan_write_raw(out, "arguments",
                        text_bytes(member_text(call, "arguments")));
        jspan_write_raw(out, *result ? "result" : "error",
                        text_bytes(*result ? result : error));
        if (i < there)
            jspan_write_raw(out, "there", text_bytes("true"));
        jspan_write_end(out);
    }
}

static bool has_calls(const notebook_t *notebook)
{
    for (size_t i = 0; i < notebook->count; i++)
        if (notebook_cell_note(&notebook->cells[i], "tools"))
            return true;
    return false;
}

static gateway_exit_t record_tools(replay_session_t *self, const char *text)
{
    json_auto_t *reply = NULL;

    return management_client_call(self->management, "session_tools",
                                  json_pack("{s:s, s:s, s:s}", "id",
                                            member_text(self->session, "id"),
                                            "order", "record", "text", text),
                                  &reply);
}

/* Records the calls of the cells from the index on. */
static gateway_exit_t record_from(replay_session_t *self,
                                  const notebook_t *notebook, size_t from,
                                  size_t there)
{
    json_t *tools =
        json_object_get(json_object_get(notebook->metadata, "hearth"), "tools");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    gateway_exit_t status;
    const json_t *tool;
    size_t k;

    if (!json_is_array(tools) && !has_calls(notebook))
        return GATEWAY_EXIT_OK;
    jspan_write_begin(&text);
    jspan_write_array(&text, "tools");
    json_array_foreach(tools, k, tool)
    {
        if (json_is_string(tool) && is_value(json_string_value(tool)))
            jspan_write_raw(&text, NULL, text_bytes(json_string_value(tool)));
    }
    jspan_write_end_array(&text);
    jspan_write_array(&text, "answers");
    for (size_t i = from; i < notebook->count; i++)
        write_calls(&notebook->cells[i], i == from ? there : 0, &text);
    jspan_write_end_array(&text);
    jspan_write_end(&text);
    buffer_append(&text, "", 1);
    status = record_tools(self, (const char *) text.data);
    self->has_tools = status == GATEWAY_EXIT_OK;
    return status;
}

gateway_exit_t replay_session_answer_tools(replay_session_t *self,
                                           const notebook_t *notebook)
{
    return record_from(self, notebook, 0, 0);
}

/* Returns how many calls of the cell, from its first on, need not be made
 * again. */
static size_t count_there(const replay_session_t *self,
                          const notebook_cell_t *cell)
{
    const json_t *call;
    size_t i;

    json_array_foreach(notebook_cell_note(cell, "tools"), i, call)
    {
        json_auto_t *result = json_loads(member_text(call, "result"), 0, NULL);

        if (strncmp(member_text(call, "name"), "hearth:", 7) == 0
            && !outside_client_has(self->management,
                                   member_text(self->session, "id"), result))
            return i;
    }
    return i;
}

void replay_session_keep_there(replay_session_t *self,
                               const notebook_t *notebook,
                               const notebook_cell_t *cell)
{
    size_t there = self->has_tools ? count_there(self, cell) : 0;

    if (there)
        (void) record_from(self, notebook, (size_t) (cell - notebook->cells),
                           there);
}

void replay_session_release_tools(replay_session_t *self)
{
    if (self->has_tools)
        (void) record_tools(self, "");
    self->has_tools = false;
}

void replay_session_delete(replay_session_t *self)
{
    json_auto_t *reply = NULL;
    const char *id = member_text(self->session, "id");

    if (self->management && *id)
        (void) management_client_ask(self->management, "session_delete",
                                     json_pack("{s:s}", "id", id), &reply);
}

/* ---- the notebook ---- */

static gateway_exit_t read_session(const options_t *options, const char *id,
                                   notebook_t *ret_notebook)
{
    cleanup_recordings recordings_t session = {0};
    gateway_exit_t status = recordings_find(options, id, &session);
    fault_t fault = {0};
    int r;

    if (status != GATEWAY_EXIT_OK)
        return status;
    /* The recorded code is run unredacted: it is not shown here. */
    session.options.mask = NULL;
    session.options.is_whole = true;
    r = recording_notebook(session.journal, &session.options, ret_notebook,
                           &fault);
    if (r == -EBADMSG)
        complain(GATEWAY_EXIT_OK, "%s; the cells before that are run",
                 fault.text);
    else if (r < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

gateway_exit_t replay_session_read(const arguments_t *arguments,
                                   const char *name, notebook_t *ret_notebook)
{
    cleanup_options options_t *options = arguments_options(arguments);
    fault_t fault = {0};

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    if (!recordings_is_file(name))
        return read_session(options, name, ret_notebook);
    if (notebook_read(name, ret_notebook, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

static const json_t *find_preinstalled(const notebook_t *notebook)
{
    return json_object_get(json_object_get(notebook->metadata, "hearth"),
                           "preinstalled");
}

void replay_session_compare_preinstalled(replay_session_t *self,
                                         const arguments_t *arguments,
                                         const notebook_t *notebook)
{
    cleanup_notebook notebook_t now = {0};

    /* The session's own recording has what its kernel was launched with. */
    if (!json_array_size(find_preinstalled(notebook))
        || replay_session_read(arguments, member_text(self->session, "id"),
                               &now)
               != GATEWAY_EXIT_OK)
        return;
    self->preinstalled = preinstalled_change(find_preinstalled(notebook),
                                             find_preinstalled(&now));
    if (self->preinstalled && !self->is_json)
        puts(terminal_cell(self->preinstalled, PREINSTALLED_WIDTH));
}

/* ---- while it runs ---- */

/* Says which cell runs, on standard error, so that what is printed can be kept.
 */
static void on_begin(const replay_step_t *step, void *arg)
{
    (void) arg;
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, CLEAR_LINE "%zu/%zu  %s", step->number, step->count,
            terminal_first_line(step->cell->source, TEXT_WIDTH));
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
    cleanup_prompt_input prompt_input_t *person = prompt_input_new(false);
    cleanup_buffer buffer_t line = BUFFER_EMPTY;

    if (!person || !isatty(STDERR_FILENO))
        return NULL;
    fprintf(stderr, CLEAR_LINE "the cell asks: %s",
            terminal_cell(prompt, PROMPT_WIDTH));
    fflush(stderr);
    prompt_input_begin(person, is_password);
    return prompt_input_wait(person, &line)
               ? json_stringn((const char *) line.data, line.size)
               : NULL;
}

bool replay_session_is_interrupted(void)
{
    return interrupted != 0;
}

const char *replay_session_verdict(replay_verdict_t verdict)
{
    static const char *const names[] = {
        [REPLAY_SAME] = "same",
        [REPLAY_DIFFERENT] = "different",
        [REPLAY_UNRECORDED] = "not recorded",
        [REPLAY_SKIPPED] = "skipped",
        [REPLAY_WAITING] = "waiting",
    };

    return names[verdict];
}

static json_t *make_row(const replay_step_t *step, const char *verdict,
                        const char *why)
{
    json_t *row = json_pack("{s:I, s:s, s:s, s:f}", "number",
                            (json_int_t) step->number, "id", step->cell->id,
                            "verdict", verdict, "seconds", step->seconds);

    if (why)
        json_object_set_new(row, "why", json_string(why));
    return row;
}

void replay_session_print(replay_session_t *self, const replay_step_t *step)
{
    if (step->verdict != REPLAY_WAITING)
        replay_session_print_as(
            self, step, replay_session_verdict(step->verdict), step->why);
}

void replay_session_print_as(replay_session_t *self, const replay_step_t *step,
                             const char *verdict, const char *why)
{
    json_array_append_new(self->cells, make_row(step, verdict, why));
    if (isatty(STDERR_FILENO))
        fputs(CLEAR_LINE, stderr);
    if (self->is_json)
        return;
    printf("%4zu/%zu  %-12s  %8.3f s  %s\n", step->number, step->count, verdict,
           step->seconds, terminal_first_line(step->cell->source, TEXT_WIDTH));
    if (why)
        printf("        %s\n", terminal_cell(why, WHY_WIDTH));
    fflush(stdout);
}

void replay_session_print_missing(replay_session_t *self,
                                  const replay_missing_t *missing)
{
    json_t *row = json_pack("{s:s}", "why", missing->why);

    if (*missing->thing)
        json_object_set_new(row, "what", json_string(missing->thing));
    if (missing->number)
        json_object_set_new(row, "cell",
                            json_integer((json_int_t) missing->number));
    json_array_append_new(self->missing, row);
    if (isatty(STDERR_FILENO))
        fputs(CLEAR_LINE, stderr);
    if (self->is_json)
        return;
    if (missing->number)
        printf("        cell %zu cannot have the same from outside: ",
               missing->number);
    else
        printf("        cannot be had again: %s: ",
               terminal_cell(missing->thing, WHY_WIDTH));
    printf("%s\n", terminal_cell(missing->why, WHY_WIDTH));
    fflush(stdout);
}

char *replay_session_error(const json_t *outputs)
{
    const json_t *output;
    size_t i;

    json_array_foreach(outputs, i, output)
    {
        const char *value = member_text(output, "evalue");

        if (strcmp(member_text(output, "output_type"), "error") == 0)
            return mem_format("%s%s%s", member_text(output, "ename"),
                              *value ? ": " : "", value);
    }
    return NULL;
}

/* Compares outputs. The name of an error says more than that there was one. */
static char *compare(const json_t *recorded, const json_t *now)
{
    const compare_t rules = COMPARE_DEFAULT;
    cleanup_difference difference_t difference = {0};
    cleanup_free char *had = replay_session_error(recorded);
    cleanup_free char *has = replay_session_error(now);

    if (compare_outputs(&rules, recorded, now, &difference))
        return NULL;
    if (has && !had)
        return mem_format("raised %s; the recording has no error", has);
    if (had && !has)
        return mem_format("raised nothing; the recording has %s", had);
    return mem_format("%s: %s, recorded is %s", difference.what,
                      difference.right ? difference.right : "nothing",
                      difference.left ? difference.left : "nothing");
}

replay_options_t replay_session_options(const replay_session_t *self,
                                        const arguments_t *arguments)
{
    return (replay_options_t){
        .compare = compare,
        .on_begin = on_begin,
        .on_wait = on_wait,
        .answer = answer,
        .time_limit = self->cell_seconds,
        .has_seed = self->has_seed,
        .runs_all = arguments_has(arguments, "all"),
    };
}
