/* See call_key.h. */
#include "gateway/http/mcp/tools/call_key.h"

#include "gateway/http/executions/execution_request.h"
#include "gateway/http/mcp/results/tool_result.h"

#include <string.h>

#define KEY_META "hearth/key"

const char *call_key(const mcp_call_t *call)
{
    const json_t *key = rpc_message_meta(&call->message, KEY_META);

    return key ? json_string_value(key)
               : call->exchange->request.headers[HEADER_KEY];
}

bool call_key_check(mcp_call_t *call)
{
    const char *key = call_key(call);

    if (key ? *key && strlen(key) <= EXECUTION_KEY_MAX
            : !rpc_message_meta(&call->message, KEY_META))
        return true;
    tool_result_text(call, true, KEY_META " must be a text of 1 to %d bytes",
                     EXECUTION_KEY_MAX);
    return false;
}
