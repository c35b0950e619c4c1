/* The action `fetch` of the tool `files`. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOL_FETCH_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOL_FETCH_H

#include "gateway/http/mcp/call.h"

/* Fetches `url` into the workspace of the session with that id, and answers
 * when the file is there. If that takes longer than mcp/block, the answer says
 * how far it has come, and the same call goes on. */
void tool_fetch_run(mcp_call_t *call, const char *session);

#endif
