/* The key under which a call of a tool is done once, however often it is sent.
 */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_CALL_KEY_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_CALL_KEY_H

#include "gateway/http/mcp/calls/call.h"

/* Returns the client's key, from _meta or the header Idempotency-Key, or NULL
 * if the client sent no key. It is borrowed from the call. */
const char *call_key(const mcp_call_t *call);
/* Returns true if the key is valid, or the client sent no key. Otherwise
 * answers the call with an error and returns false. */
bool call_key_check(mcp_call_t *call);

#endif
