/* hearth notebook diff: two notebooks or recordings, cell by cell; also as
 * git's external diff program. */
#include "gateway/cli/core/command.h"

#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/comparison/diff.h"
#include "notebooks/json/member.h"

#include <stdio.h>
#include <string.h>

#define CONTEXT 3 /* lines around a difference */

#define RED   "\033[31m"
#define GREEN "\033[32m"
#define CYAN  "\033[36m"
#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

static const flag_t diff_flags[] = {
    {"exact", 0, NULL, "compare outputs exactly, without normalising them"},
    {"git", 0, NULL, "take the operands of git's external diff"},
    FLAG_JSON,
    {0},
};

static void print_colored(terminal_t *terminal, const char *color,
                          const char *sign, const char *text)
{
    terminal_colored(terminal, color, strlen(color));
    terminal_text(terminal, sign, strlen(sign));
    terminal_text(terminal, text, strlen(text));
    terminal_colored(terminal, PLAIN, strlen(PLAIN));
    terminal_text(terminal, "\n", 1);
}

static const char *sign_at(const json_t *lines, size_t index)
{
    return json_string_value(json_array_get(json_array_get(lines, index), 0));
}

/* Returns true if a line is near enough to one that differs. */
static bool is_near(const json_t *lines, size_t index)
{
    size_t first = index > CONTEXT ? index - CONTEXT : 0;

    for (size_t i = first; i <= index + CONTEXT && i < json_array_size(lines);
         i++)
        if (*sign_at(lines, i) != ' ')
            return true;
    return false;
}

static void print_source(terminal_t *terminal, const json_t *lines)
{
    bool was_near = true;
    size_t index;
    json_t *line;

    json_array_foreach(lines, index, line)
    {
        const char *sign = sign_at(lines, index);
        const char *color = *sign == '-' ? RED : *sign == '+' ? GREEN : "";
        bool is_shown = is_near(lines, index);
        if (is_shown)
            print_colored(terminal, color, sign,
                          json_string_value(json_array_get(line, 1)));
        else if (was_near)
            print_colored(terminal, CYAN, "", "...");
        was_near = is_shown;
    }
}

static void print_outputs(terminal_t *terminal, const json_t *outputs)
{
    cleanup_free char *head =
        mem_format("output %s", member_text(outputs, "what"));

    print_colored(terminal, CYAN, "", head);
    print_colored(terminal, RED, "- ", member_text(outputs, "left"));
    print_colored(terminal, GREEN, "+ ", member_text(outputs, "right"));
}

static void write_place(buffer_t *out, const json_t *place)
{
    buffer_format(out, "cell %.0f (%.64s)", member_number(place, "cell", 0),
                  member_text(place, "id"));
}

/* Prints "cell 3 (a) -> cell 4 (a): changed, 12 ms -> 15 ms". */
static void print_head(terminal_t *terminal, const json_t *step)
{
    const json_t *left = json_object_get(step, "left");
    const json_t *right = json_object_get(step, "right");
    double before = member_number(left, "duration_ms", -1);
    double after = member_number(right, "duration_ms", -1);
    cleanup_buffer buffer_t line = BUFFER_EMPTY;

    if (left)
        write_place(&line, left);
    if (left && right)
        buffer_text(&line, " -> ");
    if (right)
        write_place(&line, right);
    buffer_format(&line, ": %s", member_text(step, "change"));
    if (before >= 0 && after >= 0)
        buffer_format(&line, ", %.0f ms -> %.0f ms", before, after);
    print_colored(terminal, BOLD, "", (char *) line.data);
}

static void print_diff(const json_t *diff)
{
    cleanup_terminal terminal_t *terminal = terminal_new(stdout);
    size_t index;
    json_t *step;

    json_array_foreach(json_object_get(diff, "cells"), index, step)
    {
        const json_t *outputs = json_object_get(step, "outputs");
        if (strcmp(member_text(step, "change"), "same") == 0)
            continue;
        print_head(terminal, step);
        print_source(terminal, json_object_get(step, "source"));
        if (outputs)
            print_outputs(terminal, outputs);
    }
    terminal_end(terminal);
}

static gateway_exit_t load(const options_t *options, const char *name,
                           notebook_t *ret_notebook)
{
    /* git's name for a file that does not exist. */
    if (strcmp(name, "/dev/null") == 0)
        return GATEWAY_EXIT_OK;
    return recordings_open(options, name, ret_notebook);
}

static gateway_exit_t diff_two(const arguments_t *arguments, const char *left,
                               const char *right)
{
    cleanup_options options_t *options = arguments_options(arguments);
    cleanup_notebook notebook_t a = {0};
    cleanup_notebook notebook_t b = {0};
    compare_t compare = COMPARE_DEFAULT;

    if (!options)
        return GATEWAY_EXIT_USAGE;
    compare.is_exact = arguments_has(arguments, "exact");
    if (load(options, left, &a) != GATEWAY_EXIT_OK
        || load(options, right, &b) != GATEWAY_EXIT_OK)
        return GATEWAY_EXIT_USAGE;
    json_auto_t *diff = notebook_diff(&compare, &a, &b);
    if (arguments_has(arguments, "json"))
        json_print(diff);
    else
        print_diff(diff);
    return json_is_true(json_object_get(diff, "same")) ? GATEWAY_EXIT_OK
                                                       : GATEWAY_EXIT_FAILED;
}

/* Shows a difference for git, which gives: path old-file old-hex old-mode
 * new-file new-hex new-mode. git takes any status but 0 for a crash of the
 * program. So a notebook that cannot be read is reported and skipped. */
static gateway_exit_t diff_for_git(const arguments_t *arguments)
{
    const char *path = arguments_operand(arguments, 0);
    const char *left = arguments_operand(arguments, 1);
    const char *right = arguments_operand(arguments, 4);

    if (!right)
        return usage_error(arguments,
                           "--git: PATH OLD-FILE OLD-HEX OLD-MODE NEW-FILE "
                           "NEW-HEX NEW-MODE, as git gives them");
    printf("notebook %s\n", terminal_cell(path, 400));
    fflush(stdout);
    diff_two(arguments, left, right);
    return GATEWAY_EXIT_OK;
}

static int diff(const arguments_t *arguments)
{
    if (arguments_has(arguments, "git"))
        return diff_for_git(arguments);
    if (!arguments_operand(arguments, 1) || arguments_operand(arguments, 2))
        return usage_error(arguments, "two notebooks are needed");
    return diff_two(arguments, arguments_operand(arguments, 0),
                    arguments_operand(arguments, 1));
}

const command_t notebook_diff_commands[] = {
    {
        .name = "notebook diff",
        .operands = "ID|FILE...",
        .help = "compare two runs of the same task, cell by cell",
        .more =
            "Exit status 0: they show the same; 1: they do not; 2: one "
            "cannot be read.\nAs git's diff: git config diff.hearth.command "
            "'hearth notebook diff --git'",
        .flags = diff_flags,
        .run = diff,
    },
    {0},
};
