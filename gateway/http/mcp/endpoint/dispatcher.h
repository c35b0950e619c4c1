/* Answers a JSON-RPC request by the offer of its endpoint: the methods that
 * every endpoint has are here, the others are the offer's. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_ENDPOINT_DISPATCHER_H
#define HEARTH_GATEWAY_HTTP_MCP_ENDPOINT_DISPATCHER_H

#include "gateway/http/mcp/calls/offer.h"

/* Answers the call, now or later. */
void dispatcher_run(mcp_call_t *call);

#endif
