/* The actions of the tool `files` that bring something from outside: `fetch` a
 * file, `clone` a repository. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_FETCH_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_FETCH_H

#include "gateway/http/mcp/calls/call.h"

/* Returns true if the call has one of these actions. */
bool tool_fetch_is_meant(const mcp_call_t *call);
/* Returns what is wrong with the arguments of such a call; NULL if nothing is
 * as far as it is known here. */
const char *tool_fetch_find_flaw(const mcp_call_t *call);
/* Brings `url` into the workspace of the session with that id, and answers when
 * it is there. If that takes longer than mcp/block, the answer says how far it
 * has come, and the same call goes on. */
void tool_fetch_run(mcp_call_t *call, const char *session);

#endif
