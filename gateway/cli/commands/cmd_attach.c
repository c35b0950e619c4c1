/* hearth attach: a person looks into a session, with Jupyter's own console, or
 * from a Jupyter Server that shows kernels which others started. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/subprocess.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/config/default_paths.h"
#include "notebooks/json/member.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK_PREFIX "hearth-"

/* Finds the console beside the session's interpreter, where a virtual
 * environment has it. */
static char *find_console(const char *profile_name)
{
    cleanup_options options_t *options = options_new();
    const profile_t *profile = NULL;
    cleanup_free char *folder = NULL;
    char *slash;
    fault_t fault;

    if (options_load(options, NULL, &fault) >= 0)
        profile = options_profile(options, profile_name);
    if (profile && profile->python) {
        folder = mem_text(profile->python);
        if ((slash = strrchr(folder, '/')))
            *slash = '\0';
    }
    return subprocess_find(folder, "jupyter-console");
}

static gateway_exit_t open_console(const json_t *session)
{
    cleanup_free char *console = find_console(member_text(session, "profile"));

    if (!console)
        return complain(
            GATEWAY_EXIT_ENVIRONMENT,
            "jupyter-console is neither beside the session's Python nor in "
            "PATH\n'pip install jupyter-console' installs it.");
    execl(console, "jupyter-console", "--existing",
          member_text(session, "connection_file"), (char *) NULL);
    return complain(GATEWAY_EXIT_ENVIRONMENT, "%s: %s", console,
                    strerror(errno));
}

/* --- External kernels --- */

/* Returns the folder in which jupyter_server looks; to be freed. */
static char *external_folder(const char *named)
{
    cleanup_free char *runtime = NULL;

    if (named)
        return mem_text(named);
    runtime = default_paths_jupyter_runtime_dir();
    return mem_format("%s/external_kernels", runtime);
}

static bool is_ours(const char *name)
{
    return strncmp(name, LINK_PREFIX, strlen(LINK_PREFIX)) == 0;
}

/* Removes links of viewers that are gone. */
static void sweep(const char *folder)
{
    DIR *listing = opendir(folder);
    const struct dirent *item;

    while (listing && (item = readdir(listing))) {
        struct stat there;
        if (is_ours(item->d_name)
            && fstatat(dirfd(listing), item->d_name, &there, 0) < 0
            && errno == ENOENT)
            unlinkat(dirfd(listing), item->d_name, 0);
    }
    if (listing)
        closedir(listing);
}

/* Makes a link, not a copy: the key stays in one place. When the viewer's file
 * is removed, the link dangles, by which jupyter_server notices. */
static gateway_exit_t link_file(const json_t *viewer, const char *folder)
{
    cleanup_free char *path =
        mem_format("%s/" LINK_PREFIX "%s-%s.json", folder,
                   member_text(viewer, "session"), member_text(viewer, "name"));
    json_auto_t *reply = NULL;

    if (symlink(member_text(viewer, "connection_file"), path) == 0) {
        printf("%s\n", path);
        return GATEWAY_EXIT_OK;
    }
    complain(GATEWAY_EXIT_FAILED, "%s: %s", path, strerror(errno));
    (void) management_client_request(
        false, "viewer_close",
        json_pack("{s:s}", "viewer", member_text(viewer, "name")), &reply);
    return GATEWAY_EXIT_FAILED;
}

static gateway_exit_t make_external(const json_t *session, const char *named,
                                    bool is_observing)
{
    cleanup_free char *folder = external_folder(named);
    json_auto_t *reply = NULL;
    gateway_exit_t status;
    fault_t fault;

    if (path_make_folders(folder, 0700, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    sweep(folder);
    status = management_client_request(false, "viewer_open",
                                       json_pack("{s:s,s:b}", "id",
                                                 member_text(session, "id"),
                                                 "observe", is_observing),
                                       &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    return link_file(json_object_get(reply, "viewer"), folder);
}

static int attach(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    const json_t *session;
    gateway_exit_t status = management_client_request(
        !arguments_has(arguments, "no-start"), "session_show",
        json_pack("{s:s}", "id", arguments_operand(arguments, 0)), &reply);

    if (status != GATEWAY_EXIT_OK)
        return status;
    session = json_object_get(reply, "session");
    if (strcmp(member_text(session, "state"), "gone") == 0)
        return complain(GATEWAY_EXIT_GONE, "session %s is gone (%s)",
                        terminal_cell(member_text(session, "id"), 40),
                        terminal_cell(member_text(session, "reason"), 40));
    if (arguments_has(arguments, "external"))
        return make_external(session, arguments_value(arguments, "folder"),
                             arguments_has(arguments, "observe"));
    if (arguments_has(arguments, "folder"))
        return usage_error(arguments, "--folder needs --external");
    if (arguments_has(arguments, "observe"))
        return usage_error(arguments, "--observe needs --external");
    return open_console(session);
}

static const flag_t flags[] = {
    {"external", 0, NULL,
     "show the session in a Jupyter Server's list instead"},
    {"folder", 0, "DIR",
     "folder in which that server looks for connection files"},
    {"observe", 0, NULL,
     "with --external: read-only, requests to run code are refused"},
    FLAG_NO_START,
    {0},
};

const command_t attach_commands[] = {
    {
        .name = "attach",
        .operands = "ID",
        .help = "open jupyter console on a session",
        .more =
            "Leaving the console (Ctrl-D, then 'n') does not end the "
            "session.\n--external is for "
            "jupyter lab --ServerApp.allow_external_kernels=True:\nit makes "
            "a connection file with a key of its own, which\nhearth viewer "
            "revoke takes back.",
        .flags = flags,
        .run = attach,
    },
    {0},
};
