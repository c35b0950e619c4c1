/* hearth run, hearth terminal: a program beside a session's kernel, with this
 * command's input and output, and its exit code. */
#include "gateway/cli/core/command.h"

#include "base/clock.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/process_run.h"

#include <stdlib.h>
#include <string.h>

/* Adds NAME=VALUE, or NAME with the value that it has here. */
static int add_variable(const arguments_t *arguments, const char *word,
                        json_t *environment)
{
    const char *sign = strchr(word, '=');
    cleanup_free char *name =
        sign ? mem_copy(word, (size_t) (sign - word)) : mem_text(word);
    const char *value = sign ? sign + 1 : getenv(name);

    if (!*name)
        return usage_error(arguments, "--env: '%s' has no name", word);
    if (!value)
        return usage_error(arguments,
                           "--env: the variable %s is not set; set it, or give "
                           "%s=VALUE",
                           name, name);
    if (json_object_set_new(environment, name, json_string(value)) < 0)
        return usage_error(arguments, "--env: %s is not UTF-8 text", name);
    return GATEWAY_EXIT_OK;
}

static int add_variables(const arguments_t *arguments, json_t *environment)
{
    const char *word;
    size_t cursor = 0;
    int status = GATEWAY_EXIT_OK;

    while (status == GATEWAY_EXIT_OK
           && (word = arguments_each(arguments, "env", &cursor)))
        status = add_variable(arguments, word, environment);
    return status;
}

static int add_words(const arguments_t *arguments, json_t *argv)
{
    const char *word;

    for (size_t i = 0; (word = arguments_rest(arguments, i)); i++)
        if (json_array_append_new(argv, json_string(word)) < 0)
            return usage_error(arguments,
                               "word %zu of the program is not UTF-8 text; "
                               "give it in a file of the workspace",
                               i + 1);
    if (!json_array_size(argv))
        return usage_error(arguments,
                           "the program is missing: hearth run ID -- PROGRAM");
    return GATEWAY_EXIT_OK;
}

static int run(const arguments_t *arguments)
{
    json_auto_t *argv = json_array();
    json_auto_t *environment = json_object();
    json_t *content;
    double seconds = 0;
    bool is_detached = arguments_has(arguments, "detach");
    process_run_mode_t mode = is_detached ? PROCESS_RUN_DETACHED
                              : arguments_has(arguments, "tty")
                                  ? PROCESS_RUN_TERMINAL
                                  : PROCESS_RUN_STREAMS;
    int status = add_words(arguments, argv);

    if (status == GATEWAY_EXIT_OK)
        status = add_variables(arguments, environment);
    if (status != GATEWAY_EXIT_OK)
        return status;
    if (is_detached && arguments_has(arguments, "tty"))
        return usage_error(arguments, "--detach and --tty exclude each other");
    if (arguments_seconds(arguments, "timeout", &seconds) && !(seconds > 0))
        return usage_error(arguments, "--timeout must be more than 0");
    content = json_pack("{s:O, s:O, s:s*, s:b, s:b}", "argv", argv, "env",
                        environment, "cwd", arguments_value(arguments, "cwd"),
                        "input", !is_detached, "follow", !is_detached);
    if (!content)
        return usage_error(arguments, "--cwd is not UTF-8 text");
    if (seconds > 0)
        json_object_set_new(content, "timeout", json_seconds(seconds));
    return process_run(arguments_operand(arguments, 0),
                       !arguments_has(arguments, "no-start"), mode, content);
}

/* Opens a shell of the sandbox: bash, or sh if the sandbox has no bash. */
static int open_terminal(const arguments_t *arguments)
{
    static const char script[] =
        "command -v bash >/dev/null && exec bash -i; exec sh -i";
    json_t *content =
        json_pack("{s:[s, s, s], s:s*, s:b}", "argv", "sh", "-c", script, "cwd",
                  arguments_value(arguments, "cwd"), "follow", 1);

    if (!content)
        return usage_error(arguments, "--cwd is not UTF-8 text");
    return process_run(arguments_operand(arguments, 0),
                       !arguments_has(arguments, "no-start"),
                       PROCESS_RUN_TERMINAL, content);
}

static const flag_t terminal_flags[] = {
    {"cwd", 'C', "DIR", "working folder, relative to the workspace"},
    FLAG_NO_START,
    {0},
};

static const flag_t flags[] = {
    {"cwd", 'C', "DIR", "working folder, relative to the workspace"},
    {"env", 'e', "NAME[=VALUE]", "set a variable; repeatable"},
    {"timeout", 't', "TIME", "end it after this time, as 90s or 20m"},
    {"tty", 'T', NULL, "give it this terminal"},
    {"detach", 'd', NULL, "print its number and leave"},
    FLAG_NO_START,
    {0},
};

const command_t run_commands[] = {
    {
        .name = "run",
        .operands = "ID",
        .help = "run a program beside a session's kernel",
        .more = "It has the kernel's sandbox and limits, also while a cell\n"
                "runs. Exit status: that of the program; 128 + N if signal N\n"
                "ended it, 124 the time limit, 126 or 127 if it could not be\n"
                "started. Ctrl-C is passed on; the third one leaves. hearth\n"
                "output ID process:NUMBER reads what it has written.",
        .flags = flags,
        .rest = "PROGRAM",
        .run = run,
    },
    {
        .name = "terminal",
        .operands = "ID",
        .help = "open a shell in a session's sandbox",
        .more = "It has the kernel's sandbox and limits, also while a cell\n"
                "runs. Ctrl-] leaves; the shell goes on, and hearth kill\n"
                "ends it.",
        .flags = terminal_flags,
        .run = open_terminal,
    },
    {0},
};
