/* See call_key.h. What a call is known by is a hash with a secret that only the
 * gateway and its successors have. So no client can compute the id of another
 * client's run, and the id of its task. The id of the token is hashed and not
 * its text, because each gateway makes another token of its own. */
#include "gateway/http/mcp/tools/call_key.h"

#include "gateway/http/mcp/results/tool_result.h"

#include <sodium.h>

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

/* Each part ends with a NUL, so that no two of them give the same bytes. */
static void add(crypto_generichash_state *state, const char *part)
{
    crypto_generichash_update(state, (const uint8_t *) part, strlen(part) + 1);
}

void call_key_digest(const mcp_call_t *call, const char *session,
                     uint8_t ret_digest[CALL_KEY_DIGEST_SIZE])
{
    const http_t *http = call->exchange->http;
    char who[EXCHANGE_WHO_SIZE];
    crypto_generichash_state state;

    crypto_generichash_init(&state, http->journal_key, sizeof http->journal_key,
                            CALL_KEY_DIGEST_SIZE);
    add(&state, "hearth mcp key 1");
    add(&state, exchange_who(call->exchange, who));
    add(&state, session);
    add(&state, call_key(call));
    crypto_generichash_final(&state, ret_digest, CALL_KEY_DIGEST_SIZE);
}

void call_key_id(const mcp_call_t *call, const char *session,
                 char ret_id[EXECUTION_ID_SIZE])
{
    uint8_t digest[CALL_KEY_DIGEST_SIZE];

    if (!call_key(call)) {
        execution_request_id("", NULL, ret_id);
        return;
    }
    call_key_digest(call, session, digest);
    uuid_write(digest, 8, ret_id);
}
