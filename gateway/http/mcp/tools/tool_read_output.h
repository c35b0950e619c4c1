/* Runs the tool `read_output`, with arguments that fit its schema. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_READ_OUTPUT_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_READ_OUTPUT_H

#include "gateway/http/mcp/calls/call.h"

void tool_read_output_run(mcp_call_t *call);

#endif
