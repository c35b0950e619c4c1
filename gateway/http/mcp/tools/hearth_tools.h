/* hearth's five tools. Each is run with arguments that fit its schema. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_HEARTH_TOOLS_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_HEARTH_TOOLS_H

#include "gateway/http/mcp/calls/call.h"

void tool_execute_run(mcp_call_t *call);
void tool_wait_run(mcp_call_t *call);
void tool_read_output_run(mcp_call_t *call);
void tool_files_run(mcp_call_t *call);
void tool_session_run(mcp_call_t *call);

/* The definitions that clients get: names, descriptions, schemas. */
extern const char mcp_tools[];
extern const size_t mcp_tools_size;

/* The schemas of results for programs: "run" and "text". */
extern const char mcp_output_schemas[];
extern const size_t mcp_output_schemas_size;

#endif
