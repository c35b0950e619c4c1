/* The key under which a client's request is done once, however often it is
 * sent. It belongs to the token that it came with: another token's request
 * under the same key is another request. */
#ifndef HEARTH_GATEWAY_HTTP_EXECUTIONS_CLIENT_KEY_H
#define HEARTH_GATEWAY_HTTP_EXECUTIONS_CLIENT_KEY_H

#include "gateway/http/executions/executions.h"
#include "protocol/message.h"

#define CLIENT_KEY_MAX         255 /* bytes */
#define CLIENT_KEY_DIGEST_SIZE 16
#define CLIENT_KEY_REST        "hearth http key 1" /* its purpose */

/* Makes a digest of the exchange's token, the session's id and the key. It is
 * the same after a restart of the gateway. `purpose` names the interface: a key
 * of another one is another key. */
void client_key_digest(const exchange_t *exchange, const char *purpose,
                       const char *session, const char *key,
                       uint8_t ret_digest[CLIENT_KEY_DIGEST_SIZE]);
/* Writes the id of a run in the session with that whole id: one of the digest,
 * or a random one if the key is NULL. */
void client_key_id(const exchange_t *exchange, const char *purpose,
                   const char *session, const char *key,
                   char ret_id[EXECUTION_ID_SIZE]);
/* Replaces the key in a body by a text of its digest. A key that no client may
 * have stays, for the receiver that refuses it. */
void client_key_bind(const exchange_t *exchange, json_t *body);
/* Returns a message that has in its content the key of the token with that id,
 * in place of its client's. It has no buffers. NULL if the message has no key
 * that a client may have. */
message_t *client_key_bind_message(const http_t *http, const char *token,
                                   const message_t *message);

#endif
