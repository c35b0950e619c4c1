/* hearth files: lists a session's workspace, also when the session is gone, and
 * copies files in and out. Names are texts that stand for bytes
 * (workspace/name.h). */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/cli/client/file_copy.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/progress.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"
#include "workspace/name.h"

#include <sodium.h>

#include <stdio.h>
#include <string.h>

/* ---- ls ---- */

static const flag_t ls_flags[] = {
    {"recursive", 'r', NULL, "also list folders below"},
    FLAG_JSON,
    {0},
};

/* Reads all pages; *ret_cut says why entries are missing, "" if none are. */
static gateway_exit_t gather(management_client_t *management, json_t *content,
                             json_t *entries, char ret_cut[16])
{
    json_t *question = content;
    const char *verb = "files_list";

    for (;;) {
        json_auto_t *reply = NULL;
        gateway_exit_t status =
            management_client_call(management, verb, question, &reply);

        if (status != GATEWAY_EXIT_OK)
            return status;
        json_array_extend(entries, json_object_get(reply, "entries"));
        snprintf(ret_cut, 16, "%s", member_text(reply, "cut"));
        if (json_is_true(json_object_get(reply, "done")))
            return GATEWAY_EXIT_OK;
        verb = "files_next";
        question = json_pack(
            "{s:s,s:I}", "transfer", member_text(reply, "transfer"), "page",
            json_integer_value(json_object_get(reply, "page")) + 1);
    }
}

static void print_row(terminal_t *terminal, const json_t *entry)
{
    const char *type = member_text(entry, "type");
    bool is_folder = strcmp(type, "folder") == 0;
    uint64_t size =
        (uint64_t) json_integer_value(json_object_get(entry, "size"));
    cleanup_free char *line =
        mem_format("%-7s %10s  %.19s  %s%s%s\n", type,
                   strcmp(type, "file") == 0 ? progress_size(size) : "-",
                   member_text(entry, "modified"), member_text(entry, "path"),
                   is_folder ? "/" : "",
                   json_is_true(json_object_get(entry, "unreadable"))
                       ? "  (cannot be read)"
                       : "");

    terminal_text(terminal, line, strlen(line));
}

static void print_entries(const json_t *entries, bool as_json)
{
    cleanup_terminal terminal_t *terminal = terminal_new(stdout);
    const json_t *entry;
    size_t i;

    if (as_json) {
        json_dumpf(entries, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        putchar('\n');
        return;
    }
    json_array_foreach(entries, i, entry) print_row(terminal, entry);
}

static int ls(const arguments_t *arguments)
{
    const char *operand = arguments_operand(arguments, 1);
    cleanup_free char *path = file_copy_path(operand ? operand : "");
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *entries = json_array(), *ordered = NULL;
    char cut[16] = "";
    gateway_exit_t status;

    if (!path)
        return GATEWAY_EXIT_USAGE;
    status = management_client_open(false, &management);
    if (status == GATEWAY_EXIT_OK)
        status = gather(management,
                        json_pack("{s:s,s:s,s:b}", "id",
                                  arguments_operand(arguments, 0), "path", path,
                                  "recursive",
                                  arguments_has(arguments, "recursive")),
                        entries, cut);
    if (status != GATEWAY_EXIT_OK)
        return status;
    ordered = json_tree_sorted(entries, "path", false);
    print_entries(ordered, arguments_has(arguments, "json"));
    if (!*cut)
        return GATEWAY_EXIT_OK;
    fprintf(stderr,
            "hearth: there is more: the listing reached its limit of %s\n",
            cut);
    return GATEWAY_EXIT_FAILED;
}

/* ---- get and put ---- */

static const flag_t get_flags[] = {
    {"growing", 'g', NULL,
     "copy a file that grows, up to its size at the start"},
    {0},
};

static int get(const arguments_t *arguments)
{
    const char *local = arguments_operand(arguments, 2);
    cleanup_free char *path = file_copy_path(arguments_operand(arguments, 1));
    cleanup_management_client management_client_t *management = NULL;
    gateway_exit_t status;

    if (!path || sodium_init() < 0)
        return GATEWAY_EXIT_USAGE;
    status = management_client_open(false, &management);
    if (status != GATEWAY_EXIT_OK)
        return status;
    return file_copy_out(management, arguments_operand(arguments, 0), path,
                         local ? local : ".",
                         arguments_has(arguments, "growing"));
}

static const flag_t put_flags[] = {
    {"no-replace", 'n', NULL, "fail if a file of that name exists"},
    {0},
};

/* Returns the path for a local file if none was given. */
static char *put_path(const char *local, const char *operand)
{
    const char *last = path_name(local);
    size_t size = operand ? strlen(operand) : 0;
    cleanup_free char *folder = NULL, *name = NULL;

    if (operand && size && operand[size - 1] != '/')
        return file_copy_path(operand);
    folder = file_copy_path(operand ? operand : "");
    name = name_text(last);
    return folder ? mem_format("%s%s", folder, name) : NULL;
}

static int put(const arguments_t *arguments)
{
    const char *local = arguments_operand(arguments, 1);
    const char *operand = arguments_operand(arguments, 2);
    cleanup_free char *path = NULL;
    cleanup_management_client management_client_t *management = NULL;
    gateway_exit_t status;

    if (strcmp(local, "-") == 0 && !operand)
        return usage_error(arguments, "give a PATH for standard input");
    path = put_path(local, operand);
    if (!path || sodium_init() < 0)
        return GATEWAY_EXIT_USAGE;
    status = management_client_open(false, &management);
    if (status != GATEWAY_EXIT_OK)
        return status;
    return file_copy_in(management, arguments_operand(arguments, 0), local,
                        path, !arguments_has(arguments, "no-replace"));
}

/* ---- rm ---- */

static const flag_t rm_flags[] = {
    {"recursive", 'r', NULL, "also remove folders, with all that is in them"},
    {0},
};

static gateway_exit_t remove_one(management_client_t *management,
                                 const arguments_t *arguments,
                                 const char *operand)
{
    cleanup_free char *path = file_copy_path(operand);
    json_auto_t *reply = NULL;

    if (!path)
        return GATEWAY_EXIT_USAGE;
    return management_client_call(
        management, "files_delete",
        json_pack("{s:s,s:s,s:b}", "id", arguments_operand(arguments, 0),
                  "path", path, "recursive",
                  arguments_has(arguments, "recursive")),
        &reply);
}

/* Removes each path, also after one that could not be removed. */
static int rm(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    gateway_exit_t first = management_client_open(false, &management);
    const char *operand;

    if (first != GATEWAY_EXIT_OK)
        return first;
    for (size_t i = 1; (operand = arguments_operand(arguments, i)); i++) {
        gateway_exit_t status = remove_one(management, arguments, operand);

        if (first == GATEWAY_EXIT_OK)
            first = status;
    }
    return first;
}

static const char names_help[] =
    "A PATH begins at the workspace. In it \\xHH is one byte and \\\\ a "
    "backslash,\nas the listing prints what no terminal should see.";

const command_t files_commands[] = {
    {
        .name = "files ls",
        .operands = "ID [PATH]",
        .help = "list a session's files, also if the session is gone",
        .more = names_help,
        .flags = ls_flags,
        .run = ls,
    },
    {
        .name = "files get",
        .operands = "ID PATH [FILE]",
        .help = "copy a file from a session",
        .more =
            "FILE is a file, a folder, or - for standard output; the "
            "default is the\ncurrent folder. A file that changes during the "
            "copy is an error.",
        .flags = get_flags,
        .run = get,
    },
    {
        .name = "files put",
        .operands = "ID FILE [PATH]",
        .help = "copy a file to a session",
        .more = "FILE - is standard input. A PATH that ends with a slash is a "
                "folder. The file\nappears when it is complete.",
        .flags = put_flags,
        .run = put,
    },
    {
        .name = "files rm",
        .operands = "ID PATH...",
        .help = "remove files from a session, also if its disk is full",
        .more = "A link is removed, not what it leads to.",
        .flags = rm_flags,
        .run = rm,
    },
    {0},
};
