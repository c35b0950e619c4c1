/* Variables of this process in the values of a tool server's entry, as MCP
 * clients write them. */
#ifndef HEARTH_GATEWAY_CONFIG_TOOL_SERVER_VARIABLES_H
#define HEARTH_GATEWAY_CONFIG_TOOL_SERVER_VARIABLES_H

#include "base/buffer.h"

#include <stdbool.h>

/* Appends the text; in it `${NAME}` and `${env:NAME}` are the variable NAME, or
 * nothing if that is not set. Then *missing becomes its name, which the caller
 * owns, unless it has one already. Returns true if the text names a variable.
 */
bool tool_server_expand(const char *text, buffer_t *out, char **missing);

#endif
