/* hearth attach: a person looks into a session, with Jupyter's own console. */
#include "gateway/cli/command.h"

#include "base/buffer.h"
#include "gateway/cli/mgmt.h"
#include "gateway/cli/program.h"
#include "gateway/cli/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Beside the session's interpreter, where a virtual environment has it. */
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
    return program_find(folder, "jupyter-console");
}

static int attach(const arguments_t *arguments)
{
    cleanup_free char *console = NULL;
    json_auto_t *reply = NULL;
    const json_t *session;
    gateway_exit_t status = mgmt_request(
        !arguments_has(arguments, "no-start"), "session_show",
        json_pack("{s:s}", "id", arguments_operand(arguments, 0)), &reply);

    if (status != GATEWAY_EXIT_OK)
        return status;
    session = json_object_get(reply, "session");
    if (strcmp(member_text(session, "state"), "gone") == 0)
        return complain(GATEWAY_EXIT_GONE, "session %s is gone (%s)",
                        terminal_cell(member_text(session, "id"), 40),
                        terminal_cell(member_text(session, "reason"), 40));
    console = find_console(member_text(session, "profile"));
    if (!console)
        return complain(GATEWAY_EXIT_ENVIRONMENT,
                        "jupyter-console is neither beside the session's "
                        "Python nor in PATH\n'pip install jupyter-console' "
                        "brings it.");
    execl(console, "jupyter-console", "--existing",
          member_text(session, "connection_file"), (char *) NULL);
    return complain(GATEWAY_EXIT_ENVIRONMENT, "%s: %s", console,
                    strerror(errno));
}

static const flag_t flags[] = {
    FLAG_NO_START,
    {0},
};

const command_t attach_commands[] = {
    {
        .name = "attach",
        .operands = "ID",
        .help = "open jupyter console on a session",
        .more = "Leaving the console (Ctrl-D, then 'n') does not end the "
                "session.",
        .flags = flags,
        .run = attach,
    },
    {0},
};
