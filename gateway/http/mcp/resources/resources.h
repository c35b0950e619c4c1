/* Sessions, their notebooks, outputs and files as resources of MCP
 * (resource_uri.h). */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESOURCES_RESOURCES_H
#define HEARTH_GATEWAY_HTTP_MCP_RESOURCES_RESOURCES_H

#include "gateway/http/mcp/calls/call.h"

/* Methods of the protocol. */
void resources_list(mcp_call_t *call);
void resources_list_templates(mcp_call_t *call);
void resources_read(mcp_call_t *call);

#endif
