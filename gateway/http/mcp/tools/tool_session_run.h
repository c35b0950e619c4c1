/* Runs the tool `session`, with arguments that fit its schema. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_SESSION_RUN_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_SESSION_RUN_H

#include "gateway/http/mcp/calls/call.h"

void tool_session_run(mcp_call_t *call);

#endif
