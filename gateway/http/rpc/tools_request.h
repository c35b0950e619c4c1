/* Requests about host tools to a session, by way of the registry: what REST and
 * WebSockets have in common. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_TOOLS_REQUEST_H
#define HEARTH_GATEWAY_HTTP_RPC_TOOLS_REQUEST_H

#include "gateway/http/core/http.h"
#include "protocol/jspan.h"

#define TOOLS_REQUEST_TYPE       "session_tools_request"
#define TOOLS_REQUEST_PROVIDER   "agent" /* where no other name is given */
#define TOOLS_REQUEST_WAIT_MAX_S 60

/* Returns the content of a request to a session, which the caller owns. */
json_t *tools_request_new(const char *session, const char *operation);
/* Sets a member to UTF-8 text. */
void tools_request_set_text(json_t *content, const char *key, bytes_t text);
/* Returns the content that answers a call with {"result": any JSON} or
 * {"error": "a sentence"}, which the caller owns; NULL if the object is
 * neither. */
json_t *tools_request_answer(const char *session, uint64_t call,
                             jspan_t answer);
/* Sends a request, whose content is taken. Returns the tag that its answer has;
 * 0 if it could not be sent. */
uint64_t tools_request_send(http_t *http, const char *who_or_null,
                            json_t *content);

/* Gets the session's reply. `note` is the copy that came with the request. */
typedef void tools_request_reply_fn(void *owner, bytes_t note,
                                    const json_t *reply);

/* The receiver of a reply, with its note. */
typedef struct {
    void *owner;
    tools_request_reply_fn *fn;
    bytes_t note; /* copied */
} tools_request_reply_t;

/* Sends a request, whose content is taken, and calls `reply->fn` with the
 * session's reply unless the owner was forgotten. Returns false if it could not
 * be sent.
 */
bool tools_request_ask(http_t *http, const char *who, json_t *content,
                       const tools_request_reply_t *reply);
/* Drops the replies that an owner waits for. */
void tools_request_forget(http_t *http, const void *owner);
/* Takes a reply of the registry. Returns false if it is for no such request. */
bool tools_request_on_answer(http_t *http, const frontend_event_t *event);
void tools_request_destroy(http_t *http);

#endif
