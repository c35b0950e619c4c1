/* hearth mcp: the Model Context Protocol over standard input and output, for
 * agents that start their servers themselves. The gateway answers; this
 * process only passes messages on (gateway/cli/mcp/mcp_pipe.h). And what the
 * configuration of known agents needs for that. */
#include "gateway/cli/core/command.h"

#include "base/environment.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/own_gateway.h"
#include "gateway/cli/mcp/mcp_agents.h"
#include "gateway/cli/mcp/mcp_pipe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- hearth mcp --- */

/* Reaps the gateways that this process started and that have ended since; it
 * has no other children. */
static void reap_gateways(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

/* Starts a gateway if that is permitted, and waits until it answers. */
static int start_gateway(const arguments_t *arguments, bool may_start,
                         fault_t *fault)
{
    cleanup_management_client management_client_t *management = NULL;

    if (!may_start || arguments_has(arguments, "no-start")
        || management_client_open(true, &management) != GATEWAY_EXIT_OK)
        return fault_set(fault, EHOSTUNREACH, "no gateway runs");
    return 0;
}

/* Finds the gateway of this user. */
static int find_own(const arguments_t *arguments, bool may_start,
                    own_gateway_t **ret_own, fault_t *fault)
{
    cleanup_options options_t *options = arguments_options(arguments);
    int r;

    if (!options)
        return fault_set(fault, EINVAL, "the configuration has errors");
    reap_gateways();
    *ret_own = own_gateway_find(options->runtime_dir);
    if (!*ret_own) {
        if ((r = start_gateway(arguments, may_start, fault)) < 0)
            return r;
        *ret_own = own_gateway_find(options->runtime_dir);
    }
    if (!*ret_own)
        return fault_set(fault, EPROTONOSUPPORT,
                         "the gateway does not serve HTTP: http/enabled is 0 "
                         "in its configuration");
    return 0;
}

static tls_files_t files_of(const arguments_t *arguments)
{
    return (tls_files_t){.authorities = arguments_value(arguments, "ca"),
                         .certificate =
                             arguments_value(arguments, "certificate"),
                         .key = arguments_value(arguments, "key")};
}

static int find(void *arg, bool may_start, mcp_place_t *ret_place,
                fault_t *fault)
{
    const arguments_t *arguments = arg;
    const char *session = arguments_value(arguments, "session");
    const char *url = environment_text("HEARTH_URL");
    const tls_files_t files = files_of(arguments);
    cleanup_own_gateway own_gateway_t *own = NULL;
    int r;

    if (url)
        return mcp_place_read(url, session, environment_text("HEARTH_TOKEN"),
                              &files, ret_place, fault);
    if ((r = find_own(arguments, may_start, &own, fault)) < 0
        || (r = mcp_place_read(own_gateway_url(own), session,
                               own_gateway_token(own), &files, ret_place,
                               fault))
               < 0)
        return r;
    ret_place->own = take_ptr(own);
    return 0;
}

static int run(const arguments_t *arguments)
{
    fault_t fault;
    void *arg = NULL;

    memcpy(&arg, &arguments, sizeof arg);
    if (mcp_pipe_run(find, arg, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* --- hearth mcp config --- */

/* Adds an option that was given. A file gets its whole path, because the agent
 * starts in another folder. */
static void add_option(const arguments_t *arguments, const char *flag,
                       bool is_file, json_t *words)
{
    const char *value = arguments_value(arguments, flag);
    cleanup_free char *path = value && is_file ? realpath(value, NULL) : NULL;
    cleanup_free char *word = mem_format("--%s", flag);

    if (!value)
        return;
    json_array_append_new(words, json_string(word));
    json_array_append_new(words, json_string(path ? path : value));
}

static json_t *words_of(const arguments_t *arguments)
{
    char program[PATH_MAX] = "hearth";
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);

    if (size > 0)
        program[size] = '\0';
    json_t *words = json_pack("[s,s]", program, "mcp");
    add_option(arguments, "session", false, words);
    add_option(arguments, "ca", true, words);
    add_option(arguments, "certificate", true, words);
    add_option(arguments, "key", true, words);
    return words;
}

/* Tries a handshake with a gateway of HTTPS, so that no configuration is
 * printed that would fail. A gateway that does not run is not started. */
static int try_handshake(const arguments_t *arguments, fault_t *fault)
{
    cleanup_options options_t *options =
        environment_text("HEARTH_URL") ? NULL : arguments_options(arguments);
    cleanup_own_gateway own_gateway_t *own =
        options ? own_gateway_find(options->runtime_dir) : NULL;
    cleanup_mcp_place mcp_place_t place = {0};
    const tls_files_t files = files_of(arguments);
    net_stream_t stream = NET_STREAM_CLOSED;
    const char *url =
        own ? own_gateway_url(own) : environment_text("HEARTH_URL");
    int r;

    if (!url)
        return 0;
    if ((r = mcp_place_read(url, NULL, NULL, &files, &place, fault)) < 0)
        return r;
    if (place.trust)
        r = net_stream_open(&stream, place.host, place.port, place.trust,
                            fault);
    net_stream_close(&stream);
    return r;
}

static int config(const arguments_t *arguments, const char *name)
{
    json_auto_t *words = words_of(arguments);
    const mcp_start_t start = {.words = words,
                               .url = environment_text("HEARTH_URL"),
                               .has_token =
                                   environment_text("HEARTH_URL")
                                   && environment_text("HEARTH_TOKEN")};
    fault_t fault;

    if (try_handshake(arguments, &fault) < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    if (mcp_agents_print(name, &start))
        return GATEWAY_EXIT_OK;
    return usage_error(
        arguments,
        "%s is not a known agent; use claude, codex, cursor or vscode", name);
}

static int mcp(const arguments_t *arguments)
{
    const char *word = arguments_operand(arguments, 0);
    const char *agent = arguments_operand(arguments, 1);

    if (!word)
        return run(arguments);
    if (strcmp(word, "config") != 0 || !agent)
        return usage_error(arguments, "the words after mcp are wrong: give "
                                      "none, or `config` and an agent");
    return config(arguments, agent);
}

static const flag_t flags[] = {
    {"session", 's', "ID", "the tools are of this session alone"},
    {"ca", 0, "FILE",
     "authorities of the gateway's HTTPS, instead of the "
     "system's"},
    {"certificate", 0, "FILE", "shown to a gateway that asks for one"},
    {"key", 0, "FILE", "the key of --certificate"},
    FLAG_NO_START,
    {0},
};

const command_t mcp_commands[] = {
    {
        .name = "mcp",
        .operands = "[config] [AGENT]",
        .help = "serve the Model Context Protocol on standard input and output",
        .more =
            "An agent starts it; it starts a gateway if none runs. "
            "HEARTH_URL and\nHEARTH_TOKEN name another gateway. `hearth mcp "
            "config AGENT` prints what the\nconfiguration of claude, codex, "
            "cursor or vscode needs.",
        .flags = flags,
        .run = mcp,
    },
    {0},
};
