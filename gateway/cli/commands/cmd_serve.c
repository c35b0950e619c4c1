/* hearth serve: reads the configuration and hands over to the gateway. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "gateway/serve/serve.h"

#include <stdio.h>
#include <string.h>

static void set_key(options_t *options, config_report_t *report,
                    const char *key, const char *value, const char *place)
{
    fault_t fault;

    if (options_set(options, key, value, &fault) < 0)
        config_report_error(report, fault.code, "%s: %s", place, fault.text);
    else
        config_report_came(report, key, place);
}

/* Sets what each --set names, "key=value". */
static void set_all(const arguments_t *arguments, options_t *options,
                    config_report_t *report)
{
    const char *level = arguments_value(arguments, "log-level");
    const char *pair;
    size_t cursor = 0;

    while ((pair = arguments_each(arguments, "set", &cursor))) {
        const char *equals = strchr(pair, '=');
        cleanup_free char *key = mem_copy(pair, (size_t) (equals - pair));

        set_key(options, report, key, equals + 1, "--set");
    }
    if (level)
        set_key(options, report, "gateway/log_level", level, "--log-level");
}

static int serve(const arguments_t *arguments)
{
    cleanup_options options_t *options = options_new();
    cleanup_config_report config_report_t *report = config_report_new();

    options_read(options, arguments_value(arguments, "config"), report);
    set_all(arguments, options, report);
    return serve_main(options, report);
}

static const flag_t flags[] = {
    FLAG_CONFIG,
    {"set", 's', "KEY=VALUE",
     "one key of it, \"gateway/ip=127.0.0.2\"; again "
     "for more"},
    {"log-level", 'l', "error|warning|info|debug", "how much is logged"},
    {0},
};

const command_t serve_commands[] = {
    {
        .name = "serve",
        .operands = "",
        .help = "run a gateway in the foreground",
        .more = "It takes over the sessions that an earlier one left. The "
                "configuration is\ndescribed in hearth.cfg(5).",
        .flags = flags,
        .run = serve,
    },
    {0},
};
