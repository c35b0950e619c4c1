/* MCP over standard input and output. Each line is a message, which is sent to
 * the gateway's endpoint in an HTTP request of its own; the answers are written
 * as lines. So are the notifications to a client of an older revision. A
 * request whose gateway ends is sent again, with a key by which code runs once.
 */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_PIPE_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_PIPE_H

#include "gateway/cli/mcp/mcp_place.h"

#include <stdbool.h>

/* Finds the gateway. If none runs and `may_start` is true, starts one. */
typedef int mcp_find_fn(void *arg, bool may_start, mcp_place_t *ret_place,
                        fault_t *fault);

/* Works until standard input ends and every request was answered. */
int mcp_pipe_run(mcp_find_fn *find, void *arg, fault_t *fault);

#endif
