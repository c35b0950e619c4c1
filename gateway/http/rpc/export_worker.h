/* Recordings made into documents, in a thread of its own: reading a journal of
 * hundreds of megabytes takes seconds, in which nobody else has to wait. A
 * document is made in a file without a name: what it takes is disk, not
 * memory. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_EXPORT_WORKER_H
#define HEARTH_GATEWAY_HTTP_RPC_EXPORT_WORKER_H

#include "gateway/http/core/internal.h"
#include "notebooks/journal/log_key.h"

typedef enum {
    CLERK_FILE,  /* the notebook, as a file has it */
    CLERK_FACTS, /* the model with the notebook's size and hash */
    CLERK_MODEL, /* the same with its content */
} clerk_form_t;

int clerk_new(const options_t *options,
              const uint8_t journal_key[CHAIN_KEY_SIZE], clerk_t **ret_clerk,
              fault_t *fault);
/* Waits for the document that is being made. */
void clerk_destroy(clerk_t **self_p);
/* Readable when clerk_deliver has something. Level-triggered. */
int clerk_fd(const clerk_t *self);

/* Answers the exchange when the document is made. `session` is as the registry
 * shows it, `model` (taken) what the document's is, NULL for a file. */
void clerk_order(exchange_t *exchange, clerk_form_t form, const json_t *session,
                 json_t *model, bool has_hash);
void clerk_forget(const exchange_t *exchange);
void clerk_deliver(http_t *http);

#endif
