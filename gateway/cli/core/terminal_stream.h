/* A stream to a person's terminal, for writers that know only FILE. */
#ifndef HEARTH_GATEWAY_CLI_CORE_TERMINAL_STREAM_H
#define HEARTH_GATEWAY_CLI_CORE_TERMINAL_STREAM_H

#include "gateway/cli/core/terminal.h"

#include <stdbool.h>
#include <stdio.h>

/* Returns a stream whose text goes to the terminal without control characters.
 * JSON keeps its meaning: there they become escapes. `terminal` is borrowed
 * until fclose. */
FILE *terminal_stream(terminal_t *terminal, bool is_json);

#endif
