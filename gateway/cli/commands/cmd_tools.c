/* hearth tools: functions of a server of the Model Context Protocol, for the
 * code of a session, or of all sessions of a profile. The server runs here,
 * outside the sandbox. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "gateway/cli/mcp/tool_bridge.h"

#define WORDS_MAX 256

/* Serves the place with the server that the words after -- name. */
static int serve_place(const arguments_t *arguments, const tool_place_t *place)
{
    const char *words[WORDS_MAX + 1] = {NULL};
    size_t count = 0;

    while (count < WORDS_MAX && arguments_rest(arguments, count)) {
        words[count] = arguments_rest(arguments, count);
        count++;
    }
    if (!count || arguments_rest(arguments, count))
        return usage_error(arguments,
                           "the server is missing: give 1 to %d words after "
                           "--, its program and its arguments",
                           WORDS_MAX);
    return tool_bridge_run(&(tool_bridge_t){
        .place = *place,
        .argv = words,
        .arguments = arguments,
        .may_start = place->session && !arguments_has(arguments, "no-start"),
    });
}

static int attach(const arguments_t *arguments)
{
    const char *name = arguments_value(arguments, "name");
    const tool_place_t place = {
        .session = arguments_operand(arguments, 0),
        .provider = name ? name : "mcp",
    };

    return serve_place(arguments, &place);
}

static int serve_profile(const arguments_t *arguments)
{
    const tool_place_t place = {
        .profile = arguments_operand(arguments, 0),
        .server = arguments_operand(arguments, 1),
    };

    return serve_place(arguments, &place);
}

static const flag_t flags[] = {
    {"name", 'n', "NAME", "of the provider, if a session has several"},
    {"tool", 't', "NAME", "code may call this one; repeatable; else all"},
    FLAG_NO_START,
    {0},
};

static const flag_t profile_flags[] = {
    {"tool", 't', "NAME", "code may call this one; repeatable; else all"},
    {0},
};

const command_t tools_commands[] = {
    {
        .name = "tools attach",
        .operands = "ID",
        .help = "let a session's code call the tools of an MCP server",
        .more = "It starts the server, which speaks MCP on standard input and\n"
                "output, outside the sandbox and with this environment: keys\n"
                "stay here. Code calls `from hearth import tools`. It serves\n"
                "until Ctrl-C or the end of the session.",
        .flags = flags,
        .rest = "PROGRAM",
        .run = attach,
    },
    {
        .name = "tools serve",
        .operands = "PROFILE NAME",
        .help = "answer a profile's sessions by an MCP server",
        .more = "The gateway starts it for each server of the file that\n"
                "profile/<name>/tools/servers names. It ends with the gateway.",
        .flags = profile_flags,
        .rest = "PROGRAM",
        .run = serve_profile,
    },
    {0},
};
