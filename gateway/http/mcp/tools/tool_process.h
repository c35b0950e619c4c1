/* The actions of the tool `session` on programs beside the kernel. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_PROCESS_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOL_PROCESS_H

#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/rpc/registry_client.h"

/* Each gets the registry's answer about the call's session. The first three
 * start a program, write to `process` and end its input. The others list the
 * programs, read what `process` has written, and end it. */
registry_client_reply_fn tool_process_run, tool_process_write,
    tool_process_close, tool_process_list, tool_process_output,
    tool_process_kill;

#endif
