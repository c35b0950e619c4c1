/* hearth notebook list, show and export: sessions' recordings on the terminal
 * and as documents. They are read from the state folder, so that no gateway has
 * to run. */
#include "gateway/cli/core/command.h"

#include "base/clock.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/output_printer.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/core/terminal_stream.h"
#include "gateway/cli/recordings/nbconvert.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/formats/output_list.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"
#include "notebooks/recording/export.h"
#include "notebooks/recording/summary.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID_WIDTH 36

/* ---- export ---- */

static const flag_t export_flags[] = {
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"format", 0, "ipynb|html|md|py|jsonl",
     "format [default: the ending of FILE's name, or ipynb]"},
    {"with-scripts", 0, NULL,
     "HTML: keep scripts in outputs, by nbconvert; they run in the page"},
    {0},
};

/* Writes to standard output; a terminal gets the text through its filter. */
static int export_print(const recordings_t *session, export_format_t format,
                        fault_t *fault)
{
    cleanup_terminal terminal_t *terminal = terminal_new(stdout);
    bool is_json = format == EXPORT_IPYNB || format == EXPORT_JSONL;
    FILE *out =
        terminal_is_tty(terminal) ? terminal_stream(terminal, is_json) : NULL;
    int r = export_write(session->journal, &session->options, format,
                         out ? out : stdout, fault);

    if (out)
        fclose(out);
    return r;
}

static gateway_exit_t export_to(const recordings_t *session,
                                export_format_t format, const char *output)
{
    fault_t fault = {0};
    int r;

    if (output)
        r = export_save(session->journal, &session->options, format, output,
                        &fault);
    else
        r = export_print(session, format, &fault);
    if (r < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* The ending of a file's name, with its dot; NULL if there is none. */
static const char *ending_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *dot = path ? strrchr(slash ? slash : path, '.') : NULL;

    return dot && dot[1] ? dot : NULL;
}

static int export(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    const char *output = arguments_value(arguments, "output");
    const char *name = arguments_value(arguments, "format");
    bool has_scripts = arguments_has(arguments, "with-scripts");
    export_format_t format = EXPORT_IPYNB;
    cleanup_recordings recordings_t session = {0};
    gateway_exit_t status;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    if (output && strcmp(output, "-") == 0)
        output = NULL;
    if (!name)
        name = ending_of(output);
    if (name && !export_format(name, &format))
        return usage_error(arguments,
                           "%s does not end with .ipynb, .html, .md, .py or "
                           ".jsonl: choose a format with --format",
                           output);
    if (has_scripts && format != EXPORT_PAGE)
        return usage_error(arguments, "--with-scripts is for HTML alone");
    status =
        recordings_find(options, arguments_operand(arguments, 0), &session);
    if (status != GATEWAY_EXIT_OK)
        return status;
    if (has_scripts)
        return nbconvert_export(&session, output);
    return export_to(&session, format, output);
}

/* ---- list ---- */

static const flag_t list_flags[] = {FLAG_JSON, {0}};

static json_t *time_or_null(int64_t wall_us)
{
    char text[CLOCK_ISO_SIZE];

    if (!wall_us)
        return json_null();
    clock_iso(wall_us, text);
    return json_string(text);
}

static json_t *describe(const char *id, const json_t *session,
                        const summary_t *summary)
{
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:b}", "id", id,
        "name", member_text(session, "name"), "profile",
        member_text(session, "profile"), "cells", (json_int_t) summary->cells,
        "errors", (json_int_t) summary->errors, "notes",
        (json_int_t) summary->notes, "bytes", (json_int_t) summary->bytes,
        "began", time_or_null(summary->began_us), "last",
        time_or_null(summary->last_us), "reason",
        *summary->reason ? json_string(summary->reason) : json_null(),
        "damaged", summary->is_damaged);
}

/* Returns false if no gateway ever ran: then there is no key, and no recording
 * to read with it. */
static bool has_sessions(const options_t *options)
{
    cleanup_free char *sessions = mem_format("%s/sessions", options->state_dir);

    return access(sessions, F_OK) == 0;
}

/* Returns true for a member of the pool, which has no owner yet. A session
 * without a description is about to join the pool, or a gateway was killed
 * while it made it. */
static bool is_pooled(const char *path, const json_t *session,
                      const summary_t *summary)
{
    if (!session && access(path, F_OK) < 0)
        return summary->cells == 0 && summary->notes == 0;
    return json_is_true(json_object_get(session, "pooled"));
}

/* Adds the recording in that session's folder, unless it cannot be read. */
static void add_recording(json_t *list, const char *folder, const char *id,
                          const recordings_t *common)
{
    cleanup_free char *journal = mem_format("%s/%s/journal", folder, id);
    cleanup_free char *path = mem_format("%s/%s/session.json", folder, id);
    json_auto_t *session = json_load_file(path, 0, NULL);
    summary_t summary;
    fault_t fault;

    if (summary_read(journal, common->options.key, &summary, &fault) == 0
        && !is_pooled(path, session, &summary))
        json_array_append_new(list, describe(id, session, &summary));
}

static json_t *find_all(const options_t *options, const recordings_t *common)
{
    cleanup_free char *sessions = mem_format("%s/sessions", options->state_dir);
    json_auto_t *list = json_array();
    DIR *folder = opendir(sessions);
    const struct dirent *item;

    while (folder && (item = readdir(folder)))
        if (item->d_name[0] != '.')
            add_recording(list, sessions, item->d_name, common);
    if (folder)
        closedir(folder);
    return json_tree_sorted(list, "last", true);
}

static void print_row(const json_t *row)
{
    const char *reason = member_text(row, "reason");

    printf("%-36s  %-12s  %-10s  %5.0f  %6.0f  %9.0f  %-19.19s  %s%s\n",
           terminal_cell(member_text(row, "id"), ID_WIDTH),
           terminal_cell(member_text(row, "name"), 12),
           terminal_cell(member_text(row, "profile"), 10),
           member_number(row, "cells", 0), member_number(row, "errors", 0),
           member_number(row, "bytes", 0) / 1024,
           terminal_cell(member_text(row, "last"), 19),
           *reason ? terminal_cell(reason, 20) : "-",
           json_is_true(json_object_get(row, "damaged")) ? ", damaged" : "");
}

static int list(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    cleanup_recordings recordings_t common = {0};
    size_t index;
    json_t *row;

    if (!options
        || (has_sessions(options)
            && recordings_key(options, &common) != GATEWAY_EXIT_OK))
        return GATEWAY_EXIT_ENVIRONMENT;
    json_auto_t *rows = find_all(options, &common);
    if (arguments_has(arguments, "json")) {
        json_print(rows);
        return GATEWAY_EXIT_OK;
    }
    printf("%-36s  %-12s  %-10s  %5s  %6s  %9s  %-19s  %s\n", "ID", "NAME",
           "PROFILE", "CELLS", "ERRORS", "KIB", "LAST", "ENDED");
    json_array_foreach(rows, index, row) print_row(row);
    return GATEWAY_EXIT_OK;
}

/* ---- show ---- */

static const flag_t show_flags[] = {
    {"output-dir", 0, "DIR", "save pictures in DIR"},
    FLAG_JSON,
    {0},
};

static void print_line(terminal_t *terminal, const char *color,
                       const char *text)
{
    terminal_colored(terminal, color, strlen(color));
    terminal_text(terminal, text, strlen(text));
    terminal_colored(terminal, *color ? "\033[0m" : "", *color ? 4 : 0);
    terminal_fresh_line(terminal);
}

/* Prints "In [3]  2026-01-02 03:04:05  0.012 s  error". */
static void print_head(terminal_t *terminal, const notebook_cell_t *cell)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    json_t *own = json_object_get(cell->metadata, "hearth");
    const char *status = member_text(own, "status");
    const char *user = member_text(json_object_get(own, "who"), "username");
    const char *asked = member_text(own, "asked");
    double duration = member_number(own, "duration_ms", -1);

    if (cell->count)
        buffer_format(&line, "In [%lld]", (long long) cell->count);
    else
        buffer_text(&line, "In [ ]");
    if (*asked)
        buffer_format(&line, "  %.10s %.8s", asked,
                      strlen(asked) > 11 ? asked + 11 : "");
    if (duration >= 0)
        buffer_format(&line, "  %.3f s", duration / 1e3);
    if (*user)
        buffer_format(&line, "  %.40s", user);
    if (*status && strcmp(status, "ok") != 0)
        buffer_format(&line, "  %.40s", status);
    print_line(terminal, "\033[1;32m", (char *) line.data);
}

/* Prints an output. Standard error is part of the notebook like the rest. */
static void print_output(terminal_t *terminal, output_printer_t *outputs,
                         json_t *output)
{
    const char *type = member_text(output, "output_type");
    json_t *text = json_object_get(output, "text");
    size_t index;
    json_t *line;

    if (strcmp(type, "stream") == 0) {
        terminal_text(terminal, json_string_value(text),
                      json_string_length(text));
    } else if (strcmp(type, "error") == 0) {
        json_array_foreach(json_object_get(output, "traceback"), index, line)
        {
            terminal_colored(terminal, json_string_value(line),
                             json_string_length(line));
            terminal_colored(terminal, "\n", 1);
        }
    } else {
        terminal_fresh_line(terminal);
        terminal_end(terminal);
        output_printer_add(outputs, type, output);
        output_printer_end(outputs);
    }
}

static void print_cell(terminal_t *terminal, output_printer_t *outputs,
                       const notebook_cell_t *cell)
{
    size_t index;
    json_t *output;

    if (cell->kind != NOTEBOOK_CODE) {
        print_line(terminal, "\033[3m", cell->source);
    } else {
        print_head(terminal, cell);
        terminal_text(terminal, cell->source, cell->source_size);
        terminal_fresh_line(terminal);
    }
    json_array_foreach(cell->outputs, index, output)
        print_output(terminal, outputs, output);
    terminal_fresh_line(terminal);
    terminal_end(terminal);
    putchar('\n');
}

static json_t *notebook_json(const notebook_t *notebook)
{
    json_t *cells = json_array();

    for (size_t i = 0; i < notebook->count; i++) {
        notebook_cell_load(&notebook->cells[i]);
        json_array_append_new(cells, notebook_cell_json(&notebook->cells[i]));
    }
    return json_pack("{s:o, s:O, s:i, s:i}", "cells", cells, "metadata",
                     notebook->metadata, "nbformat", 4, "nbformat_minor",
                     notebook->minor ? notebook->minor : 5);
}

static int show(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    cleanup_notebook notebook_t notebook = {0};
    cleanup_terminal terminal_t *terminal = NULL;
    cleanup_output_printer output_printer_t *outputs = NULL;
    gateway_exit_t status;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    status =
        recordings_open(options, arguments_operand(arguments, 0), &notebook);
    if (status != GATEWAY_EXIT_OK)
        return status;
    if (arguments_has(arguments, "json")) {
        json_auto_t *json = notebook_json(&notebook);
        json_print(json);
        return GATEWAY_EXIT_OK;
    }
    terminal = terminal_new(stdout);
    outputs =
        output_printer_new(arguments_value(arguments, "output-dir"), false);
    for (size_t i = 0; i < notebook.count; i++) {
        notebook_cell_load(&notebook.cells[i]);
        print_cell(terminal, outputs, &notebook.cells[i]);
        notebook_cell_unload(&notebook.cells[i]);
    }
    return GATEWAY_EXIT_OK;
}

const command_t notebook_commands[] = {
    {
        .name = "notebook list",
        .operands = "",
        .help = "list the recordings",
        .flags = list_flags,
        .run = list,
    },
    {
        .name = "notebook show",
        .operands = "ID|FILE",
        .help = "print a recording or a notebook on the terminal",
        .flags = show_flags,
        .run = show,
    },
    {
        .name = "notebook export",
        .operands = "ID",
        .help = "write a session's recording as a notebook",
        .more = "Also works for a session that is gone, and without a gateway.",
        .flags = export_flags,
        .run = export,
    },
    {0},
};
