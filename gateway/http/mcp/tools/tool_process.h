/* The actions of the tool `session` on programs beside the kernel. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_PROCESS_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_PROCESS_H

#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/rpc/registry_client.h"

/* Each gets the registry's answer about the call's session: starts `command`
 * in a shell, lists the programs, reads what `process` has written, ends it. */
registry_client_reply_fn tool_process_run, tool_process_list,
    tool_process_output, tool_process_kill;

#endif
