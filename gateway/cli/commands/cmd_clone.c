/* hearth clone: brings a Git repository from outside into a session's
 * workspace. Interrupted, it cancels that. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/units.h"
#include "gateway/cli/client/fetch_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/progress.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define NOTE_WIDTH 500

/* Returns the content of the request; NULL after what is wrong was printed. */
static json_t *describe(const arguments_t *arguments)
{
    const char *depth = arguments_value(arguments, "depth");
    cleanup_free char *path =
        fetch_client_path(arguments_value(arguments, "into"), false);
    uint64_t commits = 0;
    json_t *content;

    if (!path)
        return NULL;
    if (depth && (!units_number(depth, &commits) || commits > INT32_MAX)) {
        usage_error(arguments, "--depth takes a number of commits");
        return NULL;
    }
    content =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s*}", "id",
                  arguments_operand(arguments, 0), "order", "fetch", "kind",
                  "repository", "url", arguments_operand(arguments, 1), "path",
                  path, "ref", arguments_value(arguments, "ref"));
    if (!content) {
        usage_error(arguments, "the URL or the ref is not UTF-8 text");
        return NULL;
    }
    if (depth)
        json_object_set_new(content, "depth",
                            json_integer((json_int_t) commits));
    if (arguments_has(arguments, "lfs"))
        json_object_set_new(content, "lfs", json_true());
    if (arguments_has(arguments, "submodules"))
        json_object_set_new(content, "submodules", json_true());
    return content;
}

static void print_note(const json_t *reply)
{
    const char *note = member_text(reply, "note");

    if (*note)
        fprintf(stderr, "hearth: %s\n", terminal_cell(note, NOTE_WIDTH));
}

/* Says what the repository has and the workspace has not. */
static void print_missing(const json_t *reply, bool had_lfs)
{
    uint64_t lfs = member_count(reply, "lfs");
    uint64_t submodules = member_count(reply, "submodules");

    if (lfs && had_lfs)
        fprintf(stderr, "hearth: %" PRIu64 " %s\n", lfs,
                lfs == 1 ? "file looks like a Git LFS pointer, and stays"
                         : "files look like Git LFS pointers, and stay");
    else if (lfs)
        fprintf(stderr, "hearth: %" PRIu64 " %s\n", lfs,
                lfs == 1 ? "file is a Git LFS pointer: --lfs brings its content"
                         : "files are Git LFS pointers: --lfs brings their "
                           "contents");
    if (submodules)
        fprintf(stderr, "hearth: %" PRIu64 " %s\n", submodules,
                submodules == 1 ? "submodule is an empty folder"
                                : "submodules are empty folders");
}

static void print_cloned(const json_t *reply, bool had_lfs)
{
    const char *branch = member_text(reply, "branch");

    printf("%s  %s  commit %s%s%s%s\n",
           terminal_cell(member_text(reply, "path"), FETCH_PATH_WIDTH),
           progress_size(member_count(reply, "bytes")),
           member_text(reply, "commit"), *branch ? "  branch " : "", branch,
           json_is_true(json_object_get(reply, "cached")) ? "  (cached)" : "");
    fflush(stdout);
    print_note(reply);
    print_missing(reply, had_lfs);
}

static int clone_url(const arguments_t *arguments)
{
    cleanup_fetch_client fetch_client_t *client = NULL;
    json_auto_t *reply = NULL;
    json_t *content = describe(arguments);
    gateway_exit_t status;

    if (!content)
        return GATEWAY_EXIT_USAGE;
    status = fetch_client_new(&client);
    if (status != GATEWAY_EXIT_OK) {
        json_decref(content);
        return (int) status;
    }
    status = fetch_client_ask(client, content, &reply);
    if (fetch_client_is_interrupted())
        return 128 + SIGINT;
    if (status == GATEWAY_EXIT_OK && arguments_has(arguments, "json"))
        json_print(reply);
    else if (status == GATEWAY_EXIT_OK)
        print_cloned(reply, arguments_has(arguments, "lfs"));
    return (int) status;
}

static const flag_t flags[] = {
    {"ref", 0, "NAME",
     "a branch, a tag, or the whole hash of a commit; the server's default "
     "branch"},
    {"depth", 0, "N", "only the last N commits of the history"},
    {"lfs", 0, NULL, "with the contents of its Git LFS pointers"},
    {"submodules", 0, NULL, "with its submodules, if the profile permits them"},
    {"into", 'o', "PATH",
     "the folder to make in the workspace; a folder above it if it ends with a "
     "slash"},
    FLAG_JSON,
    {0},
};

const command_t clone_commands[] = {
    {
        .name = "clone",
        .operands = "ID URL",
        .help = "clone a Git repository into a session's workspace",
        .more =
            "The session has no network: the gateway clones it by http or "
            "https,\n"
            "from hosts that the configuration permits\n"
            "(profile/<name>/fetch/allow). Nothing of the repository is run.\n"
            "`hearth fetch --list ID` lists what goes on.",
        .flags = flags,
        .run = clone_url,
    },
    {0},
};
