/* The session that a tool's call names. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_SESSION_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_SESSION_H

#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/rpc/registry_client.h"

/* Returns the name or id of the call's session, lent: that of the endpoint, or
 * the argument. NULL: the call names none. */
const char *tool_session_name(const mcp_call_t *call);
/* Asks the registry for the session; `fn` gets the reply. A call without a
 * session is answered with a sentence. */
void tool_session_ask(mcp_call_t *call, registry_client_reply_fn *fn);
/* Returns the session of a reply, lent, also one that is gone. NULL: there is
 * no such session, and the call was answered. */
const json_t *tool_session_of(mcp_call_t *call, const json_t *reply);
/* Returns the session of a reply if it lives. NULL: it does not, and the call
 * was answered with when and why it ended, and how to go on. */
const json_t *tool_session_alive(mcp_call_t *call, const json_t *reply);

#endif
