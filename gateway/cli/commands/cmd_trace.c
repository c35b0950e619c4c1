/* hearth notebook trace: a session's recording as a time line. It is read from
 * the state folder, so that no gateway has to run. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/variables.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_WIDTH   60  /* of a cell's first line */
#define DETAIL_WIDTH 400 /* columns of the effects */
#define INDENT       "                  "

/* Prints "16:45:10.123" out of an ISO time: UTC, as it is recorded. */
static void print_time(const char *at)
{
    const char *clock = strchr(at, 'T');

    printf("%-12.12s  ", clock ? clock + 1 : "-");
}

static void print_detail(const char *what, const buffer_t *text)
{
    if (text->size)
        printf(INDENT "%s%s\n", what,
               terminal_cell((const char *) text->data, DETAIL_WIDTH));
}

static void print_limits(const json_t *limits)
{
    const json_t *limit;
    size_t i;

    json_array_foreach(limits, i, limit) printf(
        INDENT "limit hit: %s\n", terminal_cell(json_string_value(limit), 40));
}

static void print_figures(const json_t *row)
{
    double duration = member_number(row, "duration_ms", -1);
    double memory = member_number(row, "memory_kib", -1);

    if (duration >= 0)
        printf("%9.3f s  ", duration / 1000);
    else
        printf("%9s    ", "-");
    if (memory >= 0)
        printf("%5.0f MiB  ", memory / 1024);
    else
        printf("%9s  ", "-");
}

static void print_turn(const json_t *row)
{
    cleanup_buffer buffer_t names = BUFFER_EMPTY;
    cleanup_buffer buffer_t files = BUFFER_EMPTY;
    const char *ename = member_text(row, "ename");

    printf("%4.0f  ", member_number(row, "turn", 0));
    print_time(member_text(row, "at"));
    printf("%-10s  ",
           terminal_cell(*ename ? "error" : member_text(row, "status"), 10));
    print_figures(row);
    puts(terminal_first_line(member_text(row, "source"), TEXT_WIDTH));
    variables_write(json_object_get(row, "namespace"), &names);
    variables_write_files(json_object_get(row, "files"), &files);
    if (*ename) {
        cleanup_free char *error =
            mem_format("%s: %s", ename, member_text(row, "evalue"));
        printf(INDENT "%s\n", terminal_cell(error, DETAIL_WIDTH));
    }
    print_detail("", &names);
    print_detail("", &files);
    print_limits(json_object_get(row, "limits"));
}

/* Writes "put births.csv by uid=1000 pid=4711". */
static void describe_file(const json_t *row, buffer_t *out)
{
    const char *outcome = member_text(row, "outcome");

    buffer_format(out, "%s %s by %s", member_text(row, "done"),
                  member_text(row, "path"), member_text(row, "who"));
    if (strcmp(outcome, "ok") != 0)
        buffer_format(out, ": %s", outcome);
}

/* Describes an event between the cells: a kernel was ready, ended; a note, a
 * gap, a file. */
static void print_event(const json_t *row)
{
    static const char *const members[] = {"reason", "detail", "by", "text",
                                          NULL};
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    if (strcmp(member_text(row, "what"), "file") == 0)
        describe_file(row, &text);

    for (const char *const *key = members; *key; key++)
        if (*member_text(row, *key))
            buffer_format(&text, "%s%s", text.size ? ": " : "",
                          member_text(row, *key));
    printf("      ");
    print_time(member_text(row, "at"));
    printf("%s%s%s\n", terminal_cell(member_text(row, "what"), 20),
           text.size ? ": " : "",
           text.size ? terminal_cell((const char *) text.data, DETAIL_WIDTH)
                     : "");
}

static void print_rows(const json_t *rows)
{
    const json_t *row;
    size_t i;

    printf("%4s  %-12s  %-10s  %11s  %9s  %s\n", "TURN", "AT (UTC)", "OUTCOME",
           "TIME", "MEMORY", "WHAT");
    json_array_foreach(rows, i, row)
    {
        if (strcmp(member_text(row, "what"), "cell") == 0)
            print_turn(row);
        else
            print_event(row);
    }
}

/* Redacts secrets that the configuration names. */
static void mask_rows(const json_t *rows, const redact_t *mask)
{
    static const char *const members[] = {"source", "evalue", "text", "detail",
                                          NULL};
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        for (const char *const *key = members; *key; key++) {
            const json_t *text = json_object_get(row, *key);
            cleanup_free char *masked = NULL;
            size_t size;

            if (!json_is_string(text))
                continue;
            masked = redact_text(mask, json_string_value(text),
                                 json_string_length(text), &size);
            json_object_set_new(row, *key, json_stringn(masked, size));
        }
    }
}

static int trace(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    cleanup_recordings recordings_t session = {0};
    json_auto_t *rows = NULL;
    gateway_exit_t status;
    fault_t fault = {0};
    int r;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    if (recordings_is_file(arguments_operand(arguments, 0)))
        return usage_error(arguments,
                           "%s is a file: trace reads a session's recording, "
                           "and a notebook file has no time line",
                           arguments_operand(arguments, 0));
    status =
        recordings_find(options, arguments_operand(arguments, 0), &session);
    if (status != GATEWAY_EXIT_OK)
        return status;
    r = trace_read(session.journal, session.options.key, &rows, &fault);
    if (session.mask)
        mask_rows(rows, session.mask);
    if (rows && arguments_has(arguments, "json"))
        json_print(rows);
    else if (rows)
        print_rows(rows);
    return r < 0 ? complain(GATEWAY_EXIT_FAILED, "%s", fault.text)
                 : GATEWAY_EXIT_OK;
}

static const flag_t flags[] = {FLAG_JSON, {0}};

const command_t trace_commands[] = {
    {
        .name = "notebook trace",
        .operands = "ID",
        .help = "print a session as a time line: what each cell did and cost",
        .more = "Also of a session that is gone. No gateway has to run.\n"
                "+ a variable appeared, ~ changed, - went.",
        .flags = flags,
        .run = trace,
    },
    {0},
};
