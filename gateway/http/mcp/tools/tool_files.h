/* Runs the tool `files`, with arguments that fit its schema. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_FILES_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_FILES_H

#include "gateway/http/mcp/calls/call.h"

void tool_files_run(mcp_call_t *call);

#endif
