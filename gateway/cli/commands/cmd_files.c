/* hearth files: what is in a session's workspace, also when it is gone; files
 * in and out. Names are texts that stand for bytes (workspace/name.h). */
#include "gateway/cli/command.h"

#include "base/buffer.h"
#include "gateway/cli/copy.h"
#include "gateway/cli/mgmt.h"
#include "gateway/cli/progress.h"
#include "gateway/cli/terminal.h"
#include "notebooks/tree.h"
#include "workspace/name.h"

#include <sodium.h>

#include <stdio.h>
#include <string.h>

/* What a person typed, as the text of a path: bytes that are no UTF-8, which
 * JSON cannot carry, are escaped; escapes stay what they are. */
static char *operand_path(const char *operand)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    buffer_t text = BUFFER_EMPTY;
    fault_t fault;

    if (name_unescape(operand, strlen(operand), &bytes, &fault) < 0) {
        fprintf(stderr, "hearth: %s\n", fault.text);
        return NULL;
    }
    name_escape(&text, bytes.data, bytes.size);
    return text.data ? (char *) text.data : mem_text("");
}

/* ---- ls ---- */

static const flag_t ls_flags[] = {
    {"recursive", 'r', NULL, "also what is in the folders below"},
    FLAG_JSON,
    {0},
};

/* All pages; *ret_cut says why they are not everything, "" when they are. */
static gateway_exit_t gather(mgmt_t *mgmt, json_t *content, json_t *entries,
                             char ret_cut[16])
{
    json_t *question = content;
    const char *verb = "files_list";

    for (;;) {
        json_auto_t *reply = NULL;
        gateway_exit_t status = mgmt_call(mgmt, verb, question, &reply);

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
    cleanup_free char *path = operand_path(operand ? operand : "");
    cleanup_mgmt mgmt_t *mgmt = NULL;
    json_auto_t *entries = json_array(), *ordered = NULL;
    char cut[16] = "";
    gateway_exit_t status;

    if (!path)
        return GATEWAY_EXIT_USAGE;
    status = mgmt_open(false, &mgmt);
    if (status == GATEWAY_EXIT_OK)
        status = gather(mgmt,
                        json_pack("{s:s,s:s,s:b}", "id",
                                  arguments_operand(arguments, 0), "path", path,
                                  "recursive",
                                  arguments_has(arguments, "recursive")),
                        entries, cut);
    if (status != GATEWAY_EXIT_OK)
        return status;
    ordered = tree_sorted(entries, "path", false);
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
    {"growing", 'g', NULL, "leave out what is appended meanwhile"},
    {0},
};

static int get(const arguments_t *arguments)
{
    const char *local = arguments_operand(arguments, 2);
    cleanup_free char *path = operand_path(arguments_operand(arguments, 1));
    cleanup_mgmt mgmt_t *mgmt = NULL;
    gateway_exit_t status;

    if (!path || sodium_init() < 0)
        return GATEWAY_EXIT_USAGE;
    status = mgmt_open(false, &mgmt);
    if (status != GATEWAY_EXIT_OK)
        return status;
    return copy_out(mgmt, arguments_operand(arguments, 0), path,
                    local ? local : ".", arguments_has(arguments, "growing"));
}

static const flag_t put_flags[] = {
    {"no-replace", 'n', NULL, "fail when there is a file of that name"},
    {0},
};

/* Where a local file goes when nothing was said. */
static char *put_path(const char *local, const char *operand)
{
    const char *slash = strrchr(local, '/');
    const char *last = slash ? slash + 1 : local;
    size_t size = operand ? strlen(operand) : 0;
    cleanup_free char *folder = NULL, *name = NULL;

    if (operand && size && operand[size - 1] != '/')
        return operand_path(operand);
    folder = operand_path(operand ? operand : "");
    name = name_text(last);
    return folder ? mem_format("%s%s", folder, name) : NULL;
}

static int put(const arguments_t *arguments)
{
    const char *local = arguments_operand(arguments, 1);
    const char *operand = arguments_operand(arguments, 2);
    cleanup_free char *path = NULL;
    cleanup_mgmt mgmt_t *mgmt = NULL;
    gateway_exit_t status;

    if (strcmp(local, "-") == 0 && !operand)
        return usage_error(arguments, "what comes from standard input needs "
                                      "a PATH to go to");
    path = put_path(local, operand);
    if (!path || sodium_init() < 0)
        return GATEWAY_EXIT_USAGE;
    status = mgmt_open(false, &mgmt);
    if (status != GATEWAY_EXIT_OK)
        return status;
    return copy_in(mgmt, arguments_operand(arguments, 0), local, path,
                   !arguments_has(arguments, "no-replace"));
}

static const char names_help[] =
    "A PATH begins at the workspace. In it \\xHH is one byte and \\\\ a "
    "backslash,\nas the listing prints what no terminal should see.";

const command_t files_commands[] = {
    {
        .name = "files ls",
        .operands = "ID [PATH]",
        .help = "list a session's files, also when it is gone",
        .more = names_help,
        .flags = ls_flags,
        .run = ls,
    },
    {
        .name = "files get",
        .operands = "ID PATH [FILE]",
        .help = "copy a session's file to here",
        .more = "FILE is a file, a folder, or - for standard output; without "
                "it the current\nfolder. A file that changes meanwhile is an "
                "error.",
        .flags = get_flags,
        .run = get,
    },
    {
        .name = "files put",
        .operands = "ID FILE [PATH]",
        .help = "copy a file to a session",
        .more = "FILE - is standard input. A PATH that ends with a slash is a "
                "folder. The file\nappears there when all of it has come.",
        .flags = put_flags,
        .run = put,
    },
    {0},
};
