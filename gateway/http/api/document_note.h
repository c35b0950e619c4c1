/* A note of /api/sessions: the path of a document, and the kernel that runs for
 * it. The first parameter of a request names the note. */
#ifndef HEARTH_GATEWAY_HTTP_API_DOCUMENT_NOTE_H
#define HEARTH_GATEWAY_HTTP_API_DOCUMENT_NOTE_H

#include "gateway/http/core/http.h"
#include "gateway/http/rpc/registry_client.h"

/* Answers that there is no such note. */
void document_note_unknown(exchange_t *exchange);
/* Returns the note that the first parameter names. NULL if no session has this
 * id; the request is then answered. */
json_t *document_note_find(exchange_t *exchange);
/* Returns the model of a note, which the caller owns; `kernel` is taken. */
json_t *document_note_model(const json_t *note, json_t *kernel);
/* Removes the note of the first parameter. */
void document_note_forget(exchange_t *exchange);
/* Answers with the model of a note whose kernel is that session. */
void document_note_answer(exchange_t *exchange, const json_t *note,
                          const json_t *session);
/* Answers with the note of the first parameter, if its kernel is alive. */
void document_note_show(exchange_t *exchange);

/* Returns the session of a reply if it has this id and is alive, else NULL. */
const json_t *document_note_alive(const json_t *reply, const char *id);
/* Returns true if the reply shows whether the kernel exists. Returns false
 * after an error, and the request was then answered. */
bool document_note_is_conclusive(exchange_t *exchange, const json_t *reply);
/* Shows the kernel that the second parameter names from now on: the note may
 * have another kernel when the answer comes. */
void document_note_ask(exchange_t *exchange, const char *kernel,
                       registry_client_reply_fn *fn);
/* Returns the kernel of the first parameter's note, as the reply has it. NULL
 * if the request was answered, or `fn` asks again. `ret_is_gone` is set if
 * there is no note any more because its kernel has ended. */
const json_t *document_note_kernel(exchange_t *exchange, const json_t *reply,
                                   registry_client_reply_fn *fn,
                                   bool *ret_is_gone);

#endif
