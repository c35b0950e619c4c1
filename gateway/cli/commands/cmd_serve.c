/* hearth serve: reads the configuration and hands over to the gateway. */
#include "gateway/cli/command.h"

#include "base/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One --set, "key=value". */
static int set_one(options_t *options, const char *pair, fault_t *fault)
{
    const char *equals = strchr(pair, '=');
    cleanup_free char *key = NULL;

    if (!equals)
        return fault_set(fault, EINVAL, "--set: '%s' is no key=value", pair);
    key = mem_copy(pair, (size_t) (equals - pair));
    return options_set(options, key, equals + 1, fault);
}

static int serve(const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    const char *level = arguments_value(arguments, "log-level");
    const char *pair;
    size_t cursor = 0;
    fault_t fault = {0};
    int r = 0;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    while (r >= 0 && (pair = arguments_each(arguments, "set", &cursor)))
        r = set_one(options, pair, &fault);
    if (r >= 0 && level)
        r = options_set(options, "gateway/log_level", level, &fault);
    if (r < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
    return serve_main(options);
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
        .help = "run the gateway, in the foreground",
        .more = "It takes over the sessions that an earlier one left. The "
                "configuration is\ndescribed in hearth.cfg(5).",
        .flags = flags,
        .run = serve,
    },
    {0},
};
