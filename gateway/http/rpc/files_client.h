/* Sends requests about files of workspaces to the files' thread, with their
 * bytes. A few are under way at a time and the others wait, so memory does not
 * grow with the number of clients. An owner that waits for an answer can be
 * forgotten at any time. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_FILES_CLIENT_H
#define HEARTH_GATEWAY_HTTP_RPC_FILES_CLIENT_H

#include "gateway/http/core/http.h"
#include "gateway/http/rpc/registry_client.h"

#define FILES_CLIENT_PIECE (256u << 10) /* bytes of a file in one request */

files_client_t *files_client_new(void);
void files_client_destroy(files_client_t **self_p);

/* Gets the answer. `reply` and `data` are lent for the call. */
typedef void files_client_fn(void *owner, const json_t *reply, bytes_t data);
/* Sends a request. `content` is taken, and so is what `data` holds (NULL: no
 * bytes). `fn` is called once, never from inside this call, unless the owner is
 * forgotten before. A NULL owner gets no answer. */
void files_client_ask_for(http_t *http, void *owner, const char *type,
                          json_t *content, buffer_t *data, files_client_fn *fn);
/* Sends the first of several requests: it names the client for which they are.
 */
void files_client_begin(const exchange_t *exchange, void *owner,
                        const char *type, json_t *content, files_client_fn *fn);
/* Sends a request without bytes; `fn` as in registry_client_ask. */
void files_client_ask(exchange_t *exchange, const char *type, json_t *content,
                      registry_client_reply_fn *fn);
/* Drops the answers to this owner's requests, and closes a transfer that one of
 * them began. */
void files_client_forget(http_t *http, const void *owner);
/* Ends a transfer that is not needed any more; nothing if NULL. */
void files_client_close(http_t *http, const char *transfer);
/* Ends the transfer in a reply, if it is not complete. */
void files_client_close_left(http_t *http, const json_t *reply);
/* Handles an answer; returns false if the event is not one. */
bool files_client_on_answer(http_t *http, const frontend_event_t *event);
/* Sends again, each second, what the files' thread had no room for. */
void files_client_on_tick(http_t *http);

#endif
