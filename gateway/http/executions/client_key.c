/* See client_key.h. What a request is known by is a hash with a secret that
 * only the gateway and its successors have. So no client can compute the id of
 * another client's run. The id of the token is hashed and not its text, because
 * each gateway makes another token of its own. */
#include "gateway/http/executions/client_key.h"

#include "gateway/config/json_text.h"
#include "gateway/http/executions/execution_request.h"
#include "notebooks/json/tree.h"

#include <sodium.h>

#include <string.h>

/* Adds a part, which ends with a NUL, so that no two of them give the same
 * bytes. */
static void add(crypto_generichash_state *state, const char *part)
{
    crypto_generichash_update(state, (const uint8_t *) part, strlen(part) + 1);
}

/* Makes the digest of a key; `who` is the token as exchange_who names it. */
static void digest_of(const http_t *http, const char *purpose, const char *who,
                      const char *session, const char *key,
                      uint8_t ret_digest[CLIENT_KEY_DIGEST_SIZE])
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, http->journal_key, sizeof http->journal_key,
                            CLIENT_KEY_DIGEST_SIZE);
    add(&state, purpose);
    add(&state, who);
    add(&state, session);
    add(&state, key);
    crypto_generichash_final(&state, ret_digest, CLIENT_KEY_DIGEST_SIZE);
}

void client_key_digest(const exchange_t *exchange, const char *purpose,
                       const char *session, const char *key,
                       uint8_t ret_digest[CLIENT_KEY_DIGEST_SIZE])
{
    char who[EXCHANGE_WHO_SIZE];

    digest_of(exchange->http, purpose, exchange_who(exchange, who), session,
              key, ret_digest);
}

void client_key_id(const exchange_t *exchange, const char *purpose,
                   const char *session, const char *key,
                   char ret_id[EXECUTION_ID_SIZE])
{
    uint8_t digest[CLIENT_KEY_DIGEST_SIZE];

    if (!key) {
        execution_request_id(ret_id);
        return;
    }
    client_key_digest(exchange, purpose, session, key, digest);
    uuid_write(digest, 8, ret_id);
}

/* Returns false if the body has no key that a client may have. */
static bool bind_for(const http_t *http, const char *who, json_t *body)
{
    const json_t *key = json_object_get(body, "key");
    size_t size = json_string_length(key);
    uint8_t digest[CLIENT_KEY_DIGEST_SIZE];
    char id[EXECUTION_ID_SIZE];

    if (size == 0 || size > CLIENT_KEY_MAX || !json_text_is_whole(key))
        return false;
    /* The session has its keys for itself, so its id is no part of them: the
     * path may have its name. */
    digest_of(http, CLIENT_KEY_REST, who, "", json_string_value(key), digest);
    uuid_write(digest, 8, id);
    json_object_set_new(body, "key", json_string(id));
    return true;
}

void client_key_bind(const exchange_t *exchange, json_t *body)
{
    char who[EXCHANGE_WHO_SIZE];

    (void) bind_for(exchange->http, exchange_who(exchange, who), body);
}

message_t *client_key_bind_message(const http_t *http, const char *token,
                                   const message_t *message)
{
    bytes_t content = message_content(message);
    cleanup_free char *who = mem_format("token=%s", token);
    cleanup_free char *text = NULL;
    json_auto_t *body = NULL;

    if (jspan_member(message_content_json(message), "key").kind == JSPAN_ABSENT)
        return NULL;
    body = json_tree_load(content.bytes, content.size, NULL);
    if (!bind_for(http, who, body))
        return NULL;
    text = json_dumps(body, JSON_COMPACT);
    return message_new(message_header(message), message_parent(message),
                       message_metadata(message), text_bytes(text));
}
