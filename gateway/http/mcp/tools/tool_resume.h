/* A call that is repeated with the answer to what its code has asked by
 * input() (call_state.h). */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_RESUME_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_RESUME_H

#include "gateway/http/mcp/calls/call.h"

/* Goes on with the run that the call's `requestState` names. Returns false if
 * the call has no `requestState`. */
bool tool_resume_run(mcp_call_t *call);

#endif
