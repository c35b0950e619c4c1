/* Makes documents of recordings, in a thread of its own: reading a journal of
 * hundreds of megabytes takes seconds, and no other client has to wait for
 * that. A document is made in a file without a name, so it takes disk, not
 * memory. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_EXPORT_WORKER_H
#define HEARTH_GATEWAY_HTTP_RPC_EXPORT_WORKER_H

#include "gateway/http/core/http.h"
#include "notebooks/journal/log_key.h"

typedef enum {
    EXPORT_WORKER_FILE,  /* the notebook as a file */
    EXPORT_WORKER_PAGE,  /* one HTML file in which nothing acts */
    EXPORT_WORKER_FACTS, /* the model with the notebook's size and hash */
    EXPORT_WORKER_MODEL, /* the model with its content */
} export_worker_form_t;

int export_worker_new(const options_t *options,
                      const uint8_t journal_key[LOG_KEY_SIZE],
                      export_worker_t **ret_worker, fault_t *fault);
/* Waits for the current document, and ends the thread. */
void export_worker_destroy(export_worker_t **self_p);
/* Returns a level-triggered descriptor, readable when export_worker_deliver has
 * a document. */
int export_worker_fd(const export_worker_t *self);

/* Answers the exchange when the document is made. `session` is its description
 * by the registry. `model` (taken) is the document's model, NULL for a file. */
void export_worker_ask(exchange_t *exchange, export_worker_form_t form,
                       const json_t *session, json_t *model, bool has_hash);

/* A document, lent for a call. */
typedef struct {
    int r;         /* -EXXX if it was not made; the fault says why */
    int fd;        /* at its start; closed after the call */
    uint64_t size; /* bytes of it */
    fault_t fault;
} export_worker_result_t;

typedef void export_worker_fn(exchange_t *exchange,
                              const export_worker_result_t *result);
/* Makes the notebook as a file; `fn` gets it instead of the client, also at
 * once if too many are waited for. */
void export_worker_read(exchange_t *exchange, const json_t *session,
                        export_worker_fn *fn);
void export_worker_deliver(http_t *http);

#endif
