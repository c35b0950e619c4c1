/* See call_key.h. A key of MCP is another one than the same text over REST. */
#include "gateway/http/mcp/tools/call_key.h"

#include "gateway/http/mcp/results/tool_result.h"

#include <string.h>

#define KEY_META "hearth/key"
#define PURPOSE  "hearth mcp key 1"

const char *call_key(const mcp_call_t *call)
{
    const json_t *key = rpc_message_meta(&call->message, KEY_META);

    return key ? json_string_value(key)
               : call->exchange->request.headers[HEADER_KEY];
}

bool call_key_check(mcp_call_t *call)
{
    const char *key = call_key(call);

    if (key ? *key && strlen(key) <= CLIENT_KEY_MAX
            : !rpc_message_meta(&call->message, KEY_META))
        return true;
    tool_result_text(call, true, KEY_META " must be a text of 1 to %d bytes",
                     CLIENT_KEY_MAX);
    return false;
}

void call_key_digest(const mcp_call_t *call, const char *session,
                     uint8_t ret_digest[CLIENT_KEY_DIGEST_SIZE])
{
    client_key_digest(call->exchange, PURPOSE, session, call_key(call),
                      ret_digest);
}

void call_key_id(const mcp_call_t *call, const char *session,
                 char ret_id[EXECUTION_ID_SIZE])
{
    client_key_id(call->exchange, PURPOSE, session, call_key(call), ret_id);
}
