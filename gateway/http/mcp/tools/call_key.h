/* The key under which a call of a tool is done once (client_key.h). */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_CALL_KEY_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_CALL_KEY_H

#include "gateway/http/executions/client_key.h"
#include "gateway/http/executions/execution_request.h"
#include "gateway/http/mcp/calls/call.h"

/* Returns the client's key, from _meta or the header Idempotency-Key, or NULL
 * if the client sent no key. It is borrowed from the call. */
const char *call_key(const mcp_call_t *call);
/* Returns true if the key is valid, or the client sent no key. Otherwise
 * answers the call with an error and returns false. */
bool call_key_check(mcp_call_t *call);
/* Makes a digest of the token's id, the session's id and the key, which the
 * call must have. It is the same after a restart of the gateway. */
void call_key_digest(const mcp_call_t *call, const char *session,
                     uint8_t ret_digest[CLIENT_KEY_DIGEST_SIZE]);
/* Writes the id of what the call does in the session: one of this digest, or a
 * random one without a key. */
void call_key_id(const mcp_call_t *call, const char *session,
                 char ret_id[EXECUTION_ID_SIZE]);

#endif
