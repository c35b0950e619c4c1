/* Runs the tools `execute` and `wait`, with arguments that fit their schema. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_EXECUTE_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_EXECUTE_H

#include "gateway/http/mcp/calls/call.h"

void tool_execute_run(mcp_call_t *call);
void tool_wait_run(mcp_call_t *call);

#endif
