/* Lines of a server that cannot be read. One that is an answer all the same
 * ends its call: otherwise the call would wait until its time is over. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_UNREAD_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_UNREAD_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds the id of an answer in text that is no portable JSON, or none at all.
 * False if it has none, or is a request, or another program's line. */
bool mcp_unread_id(const buffer_t *line, int64_t *ret_id);

#endif
