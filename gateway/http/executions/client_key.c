/* See client_key.h. What a request is known by is a hash with a secret that
 * only the gateway and its successors have. So no client can compute the id of
 * another client's run. The id of the token is hashed and not its text, because
 * each gateway makes another token of its own. */
#include "gateway/http/executions/client_key.h"

#include "gateway/http/executions/execution_request.h"

#include <sodium.h>

#include <string.h>

#define PURPOSE "hearth http key 1"

/* Each part ends with a NUL, so that no two of them give the same bytes. */
static void add(crypto_generichash_state *state, const char *part)
{
    crypto_generichash_update(state, (const uint8_t *) part, strlen(part) + 1);
}

void client_key_digest(const exchange_t *exchange, const char *purpose,
                       const char *session, const char *key,
                       uint8_t ret_digest[CLIENT_KEY_DIGEST_SIZE])
{
    const http_t *http = exchange->http;
    char who[EXCHANGE_WHO_SIZE];
    crypto_generichash_state state;

    crypto_generichash_init(&state, http->journal_key, sizeof http->journal_key,
                            CLIENT_KEY_DIGEST_SIZE);
    add(&state, purpose);
    add(&state, exchange_who(exchange, who));
    add(&state, session);
    add(&state, key);
    crypto_generichash_final(&state, ret_digest, CLIENT_KEY_DIGEST_SIZE);
}

void client_key_id(const exchange_t *exchange, const char *session,
                   const char *key, char ret_id[EXECUTION_ID_SIZE])
{
    uint8_t digest[CLIENT_KEY_DIGEST_SIZE];

    if (!key) {
        execution_request_id(ret_id);
        return;
    }
    client_key_digest(exchange, PURPOSE, session, key, digest);
    uuid_write(digest, 8, ret_id);
}

void client_key_bind(const exchange_t *exchange, json_t *body)
{
    const json_t *key = json_object_get(body, "key");
    size_t size = json_string_length(key);
    char id[EXECUTION_ID_SIZE];

    if (size == 0 || size > CLIENT_KEY_MAX
        || strlen(json_string_value(key)) != size)
        return;
    /* The session has its keys for itself, so its id is no part of them: the
     * path may have its name. */
    client_key_id(exchange, "", json_string_value(key), id);
    json_object_set_new(body, "key", json_string(id));
}
