/* hearth kernelgateway: Jupyter Kernel Gateway's command line and variables, so
 * that an image that runs it can run hearth by a change of one word.
 * kernelgateway_options.c has the meaning of each option; here they are found
 * as traitlets finds them. A misspelled option is refused: a gateway must not
 * be open because its token was not understood. */
#include "gateway/cli/commands/cmd_kernelgateway.h"

#include "base/buffer.h"
#include "base/environment.h"
#include "gateway/cli/client/kernelgateway_options.h"
#include "gateway/cli/core/command.h"
#include "gateway/serve/serve.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Classes whose traits those are; others may be there for parts that
 * hearth does not have. */
static bool is_known_class(const char *name, size_t size)
{
    static const char *const names[] = {
        "KernelGatewayApp",
        "JupyterApp",
        "Application",
        "JupyterWebsocketPersonality",
        "MappingKernelManager",
        "AsyncMappingKernelManager",
        "SeedingMappingKernelManager",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0)
            return true;
    return false;
}

/* --- The command line --- */

typedef struct {
    const char *values[TRAITS]; /* borrowed; NULL: not given */
} trait_values_t;

__attribute__((format(printf, 1, 2))) static int wrong(const char *format, ...)
{
    va_list arguments;

    fputs("hearth: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\nTry 'hearth kernelgateway --help'.\n", stderr);
    return GATEWAY_EXIT_USAGE;
}

static int note(trait_values_t *given, const char *trait, size_t size,
                const char *value)
{
    for (size_t i = 0; i < TRAITS; i++)
        if (strlen(traits[i].name) == size
            && memcmp(traits[i].name, trait, size) == 0) {
            given->values[i] = value;
            return GATEWAY_EXIT_OK;
        }
    return wrong("Jupyter Kernel Gateway has no option '%.100s', or hearth "
                 "does not know its meaning",
                 trait);
}

/* Removes quotes that a shell would have removed, as traitlets does. */
static char *unquote(char *value)
{
    size_t size = strlen(value);

    if (size < 2 || (*value != '"' && *value != '\'')
        || value[size - 1] != *value)
        return value;
    value[size - 1] = '\0';
    return value + 1;
}

/* Notes an option, named "port" or "KernelGatewayApp.port"; `size` is the
 * name's. */
static int note_option(trait_values_t *given, const char *name, size_t size,
                       char *value)
{
    static const char *const aliases[][2] = {
        {"log-level", "log_level"},
        {"config", "config_file"},
        {"client-ca", "client_ca"},
    };
    const char *dot = memrchr(name, '.', size);

    value = unquote(value);
    if (dot && !is_known_class(name, (size_t) (dot - name))) {
        fprintf(stderr, "hearth: --%.*s is not used: there is no %.*s here\n",
                (int) size, name, (int) (dot - name), name);
        return GATEWAY_EXIT_OK;
    }
    if (dot)
        return note(given, dot + 1, size - (size_t) (dot + 1 - name), value);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i][0]) == size
            && memcmp(aliases[i][0], name, size) == 0)
            return note(given, aliases[i][1], strlen(aliases[i][1]), value);
    return note(given, name, size, value);
}

/* Options that are whole by themselves. */
static bool note_switch(trait_values_t *given, const char *word,
                        int *ret_status)
{
    static const char *const switches[][3] = {
        {"--debug", "log_level", "DEBUG"},
        {"-y", "answer_yes", "True"},
        {"--y", "answer_yes", "True"},
        {"--show-config", "show_config", "True"},
        {"--show-config-json", "show_config", "True"},
        {"--generate-config", "generate_config", "True"},
    };

    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (strcmp(word, switches[i][0]) == 0) {
            *ret_status = note(given, switches[i][1], strlen(switches[i][1]),
                               switches[i][2]);
            return true;
        }
    return false;
}

/* Notes the options of the command line, "--name=value" or "--name value". */
static int note_words(trait_values_t *given, int count, char **words)
{
    int status = GATEWAY_EXIT_OK;

    for (int i = 0; i < count && status == GATEWAY_EXIT_OK; i++) {
        const char *name = words[i] + 2;
        char *equals = strchr(words[i], '=');

        if (note_switch(given, words[i], &status))
            continue;
        if (strncmp(words[i], "--", 2) != 0 || !*name)
            return wrong("'%.100s' is not an option: options begin with --",
                         words[i]);
        if (equals)
            status =
                note_option(given, name, (size_t) (equals - name), equals + 1);
        else if (i + 1 < count)
            status = note_option(given, name, strlen(name), words[++i]);
        else
            status = wrong("%.100s needs a value", words[i]);
    }
    return status;
}

static void note_environment(trait_values_t *given)
{
    for (size_t i = 0; i < TRAITS; i++)
        if (traits[i].variable)
            given->values[i] = environment_text(traits[i].variable);
}

/* --- The gateway --- */

/* Sets Kernel Gateway's defaults where they differ: no token, no idle timeout,
 * a fresh kernel for one that died, and kernels that end with the gateway, also
 * when it is killed: a program that starts it as its child relies on that. The
 * configuration file has priority. */
static int load(options_t *options, config_report_t *report, fault_t *fault)
{
    int r;

    if ((r = options_set(options, "http/auth", "none", fault)) < 0
        || (r = options_set(options, "sessions/idle_timeout", "0", fault)) < 0
        || (r = options_set(options, "sessions/restart", "auto", fault)) < 0
        || (r = options_set(options, "gateway/stop_sessions", "end", fault)) < 0
        || (r = options_set(options, "gateway/orphan_timeout", "10s", fault))
               < 0)
        return r;
    options_read(options, NULL, report);
    if ((r = options_set(options, "http/enabled", "yes", fault)) < 0)
        return r;
    return options->http.token
               ? options_set(options, "http/auth", "token", fault)
               : 0;
}

static int apply(options_t *options, const trait_values_t *given,
                 fault_t *fault)
{
    for (size_t i = 0; i < TRAITS; i++) {
        const char *value = given->values[i];

        if (value && traits[i].take(options, &traits[i], value, fault) < 0)
            return fault_wrap(fault, "%s", traits[i].name);
    }
    return 0;
}

static int print_help(void)
{
    puts("usage: hearth kernelgateway [--OPTION=VALUE]...\n\n"
         "run the gateway in the foreground, with the command line and the\n"
         "variables of Jupyter Kernel Gateway: --KernelGatewayApp.port=8888,\n"
         "--port=8888, KG_PORT=8888. hearth-kernelgateway is the same.\n\n"
         "options:");
    for (size_t i = 0; i < TRAITS; i++)
        if (traits[i].help)
            printf("  --%-22s %s%s%s%s\n", traits[i].name, traits[i].help,
                   traits[i].variable ? " [" : "",
                   traits[i].variable ? traits[i].variable : "",
                   traits[i].variable ? "]" : "");
    puts("\nhearth(1) says which setting each one changes. Without a token "
         "every program\nthat reaches the port may use the gateway.");
    return GATEWAY_EXIT_OK;
}

static int serve(int count, char **words)
{
    trait_values_t given = {{0}};
    fault_t fault = {0};
    int status;

    note_environment(&given);
    status = note_words(&given, count, words);
    if (status != GATEWAY_EXIT_OK)
        return status;
    cleanup_options options_t *options = options_new();
    cleanup_config_report config_report_t *report = config_report_new();
    if (load(options, report, &fault) < 0 || apply(options, &given, &fault) < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
    (void) unsetenv("KG_AUTH_TOKEN");
    if (options->http.auth == OPTIONS_AUTH_NONE)
        fputs("hearth: no token is required, as in Kernel Gateway; "
              "KG_AUTH_TOKEN sets one\n",
              stderr);
    return serve_main(options, report);
}

int kernelgateway_main(int count, char **words)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0
            || strcmp(words[i], "--help-all") == 0)
            return print_help();
        if (strcmp(words[i], "--version") == 0)
            return puts("hearth " HEARTH_VERSION) < 0 ? GATEWAY_EXIT_FAILED
                                                      : GATEWAY_EXIT_OK;
    }
    return serve(count, words);
}

const command_t kernelgateway_commands[] = {
    {
        .name = "kernelgateway",
        .operands = "",
        .help = "run a gateway with Jupyter Kernel Gateway's command line",
        .run_words = kernelgateway_main,
    },
    {0},
};
