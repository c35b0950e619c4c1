/* hearth config: shows the errors of a configuration, its values, and the
 * meaning of a key. All of it comes from the table by which the gateway reads
 * its configuration. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/similar.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/config/config_check.h"
#include "gateway/config/option_table.h"
#include "notebooks/json/member.h"

#include <stdio.h>
#include <string.h>

#define HIDDEN "(hidden)"
#define WIDTH  79 /* columns of a text of explain */

/* Reads the configuration that the command line names into `options`; places of
 * values, and errors, are in the report. */
static config_report_t *read_options(const arguments_t *arguments,
                                     options_t *options)
{
    config_report_t *report = config_report_new();

    options_read(options, arguments_value(arguments, "config"), report);
    config_check(options, report);
    return report;
}

/* ---- check ---- */

static json_t *list_findings(const config_report_t *report, bool wants_errors)
{
    json_t *list = json_array();
    const char *text;
    bool is_error;

    for (size_t i = 0; (text = config_report_at(report, i, &is_error)); i++)
        if (is_error == wants_errors)
            json_array_append_new(list, json_string(text));
    return list;
}

static int check(const arguments_t *arguments)
{
    cleanup_options options_t *options = options_new();
    cleanup_config_report config_report_t *report =
        read_options(arguments, options);
    size_t errors = config_report_errors(report);

    if (arguments_has(arguments, "json")) {
        json_auto_t *document =
            json_pack("{s:b,s:s?,s:o,s:o}", "ok", !errors, "file",
                      options->file, "errors", list_findings(report, true),
                      "warnings", list_findings(report, false));
        json_print(document);
    } else {
        report_print(report, stdout);
        if (!errors)
            printf("%s: no errors\n", options->file
                                          ? terminal_cell(options->file, 400)
                                          : "no file, all defaults");
    }
    return errors ? GATEWAY_EXIT_ENVIRONMENT : GATEWAY_EXIT_OK;
}

/* ---- show ---- */

/* Returns the value as the file would have it; the caller frees it. */
static char *value_text(const options_item_t *item)
{
    cleanup_free char *text = option_value_write(item->row, item->base);

    if (strcmp(item->key, "http/token") == 0 && *text)
        return mem_text(HIDDEN);
    return take_ptr(text);
}

/* Returns true if the key is that one, or below it. */
static bool is_below(const char *key, const char *path)
{
    size_t size = strlen(path);

    return strncmp(key, path, size) == 0 && (!key[size] || key[size] == '/');
}

static json_t *collect(const arguments_t *arguments, options_t *options,
                       const config_report_t *report)
{
    const char *path = arguments_operand(arguments, 0);
    json_t *rows = json_array();
    options_item_t item;

    for (size_t i = 0; options_item(options, i, &item); i++) {
        const char *place = config_report_place(report, item.key);
        cleanup_free char *text = value_text(&item);

        if ((path && !is_below(item.key, path))
            || (!place && arguments_has(arguments, "changed")))
            continue;
        json_array_append_new(rows, json_pack("{s:s,s:s,s:s}", "key", item.key,
                                              "value", text, "from",
                                              place ? place : "default"));
    }
    return rows;
}

static void print_rows(const json_t *rows)
{
    const json_t *row;
    size_t i;
    int keys = 0, values = 0;

    json_array_foreach(rows, i, row)
    {
        int key = (int) strlen(member_text(row, "key"));
        int value = (int) strlen(member_text(row, "value"));

        keys = key > keys ? key : keys;
        values = value > values && value <= 32 ? value : values;
    }
    json_array_foreach(rows, i, row)
    {
        printf("%-*s  ", keys, member_text(row, "key"));
        printf("%-*s  ", values,
               *member_text(row, "value")
                   ? terminal_cell(member_text(row, "value"), 400)
                   : "-");
        puts(terminal_cell(member_text(row, "from"), 400));
    }
}

static int unknown_key(const char *path)
{
    cleanup_options options_t *options = options_new();
    fault_t fault = {0};

    /* Names the unknown key. */
    (void) options_set(options, path, "", &fault);
    return complain(GATEWAY_EXIT_USAGE, "%s", fault.text);
}

static int show(const arguments_t *arguments)
{
    cleanup_options options_t *options = options_new();
    cleanup_config_report config_report_t *report =
        read_options(arguments, options);
    const char *path = arguments_operand(arguments, 0);

    if (config_report_errors(report)) {
        report_print(report, stderr);
        return GATEWAY_EXIT_ENVIRONMENT;
    }
    json_auto_t *rows = collect(arguments, options, report);
    if (path && !json_array_size(rows) && !arguments_has(arguments, "changed"))
        return unknown_key(path);
    if (arguments_has(arguments, "json"))
        json_print(rows);
    else
        print_rows(rows);
    return GATEWAY_EXIT_OK;
}

/* ---- explain ---- */

/* "limits/memory" of a key of any profile is the row's own name. */
static const option_value_t *find_row(options_t *options, const char *path)
{
    const char *below =
        strncmp(path, "profile/", 8) == 0 ? strchr(path + 8, '/') : NULL;
    options_item_t item;

    for (size_t i = 0; options_item(options, i, &item); i++) {
        bool is_profile =
            strncmp(item.row->key, OF_PROFILE, OF_PROFILE_SIZE) == 0;

        if (strcmp(item.row->key, path) == 0
            || (below && is_profile
                && strcmp(item.row->key + OF_PROFILE_SIZE, below + 1) == 0))
            return item.row;
    }
    return NULL;
}

static void explain_row(const option_value_t *row)
{
    char range[256];

    option_value_range(row, range, sizeof range);
    printf("%s\n    %s\n    Value: %s\n    Default: %s\n    %s\n", row->key,
           row->help, range, *row->initial ? row->initial : "see hearth.cfg(5)",
           row->is_reread
               ? "A running gateway can reload it (hearth gateway reload)."
               : "A change needs a restart (hearth gateway restart).");
}

static json_t *describe_row(const option_value_t *row)
{
    char range[256];

    option_value_range(row, range, sizeof range);
    return json_pack("{s:s,s:s,s:s,s:s,s:b}", "key", row->key, "help",
                     row->help, "value", range, "default", row->initial,
                     "reread", row->is_reread);
}

/* Adds the keys that equal `path`, end with it or are below it. */
static size_t explain_each(options_t *options, const char *path, json_t *list)
{
    options_item_t item;
    size_t size = strlen(path), count = 0;

    for (size_t i = 0; options_item(options, i, &item); i++) {
        size_t whole = strlen(item.row->key);
        const char *end = item.row->key + whole - size;
        bool is_end = whole > size && end[-1] == '/' && strcmp(end, path) == 0;

        if (i && item.base != options && item.base != options->profiles[0])
            break;
        if (!is_end && !is_below(item.row->key, path)
            && !is_below(item.key, path))
            continue;
        count++;
        if (list)
            json_array_append_new(list, describe_row(item.row));
        else
            explain_row(item.row);
    }
    return count;
}

static int explain(const arguments_t *arguments)
{
    cleanup_options options_t *options = options_new();
    const char *path = arguments_operand(arguments, 0);
    const option_value_t *row = find_row(options, path);
    bool is_json = arguments_has(arguments, "json");
    json_auto_t *list = is_json ? json_array() : NULL;

    if (row && is_json)
        json_array_append_new(list, describe_row(row));
    else if (row)
        explain_row(row);
    else if (!explain_each(options, path, list))
        return unknown_key(path);
    if (is_json)
        json_print(list);
    return GATEWAY_EXIT_OK;
}

static const flag_t check_flags[] = {
    FLAG_CONFIG,
    FLAG_JSON,
    {0},
};

static const flag_t show_flags[] = {
    FLAG_CONFIG,
    {"changed", 'c', NULL, "only values that differ from the default"},
    FLAG_JSON,
    {0},
};

static const flag_t explain_flags[] = {
    FLAG_JSON,
    {0},
};

const command_t config_commands[] = {
    {
        .name = "config check",
        .operands = "",
        .help = "check the configuration and print all errors",
        .more = "Exit status 5 if the gateway would not start with it.",
        .flags = check_flags,
        .run = check,
    },
    {
        .name = "config show",
        .operands = "[KEY]",
        .help = "print each value and where it comes from",
        .more = "KEY: only this key, or all keys of a section.",
        .flags = show_flags,
        .run = show,
    },
    {
        .name = "config explain",
        .operands = "KEY",
        .help = "print a key's meaning, permitted values and default",
        .more = "KEY: sessions/idle_timeout, idle_timeout, or a section.",
        .flags = explain_flags,
        .run = explain,
    },
    {0},
};
