/* Writes a file into a workspace: it is opened, written piece by piece, and
 * gets its name at the end. Each step is answered before the next one. An
 * upload that is not committed leaves nothing. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_UPLOAD_H
#define HEARTH_GATEWAY_HTTP_RPC_UPLOAD_H

#include "gateway/http/core/http.h"

typedef struct upload upload_t;

/* Called when a step was done or refused, as the reply says. */
typedef void upload_fn(void *owner, const json_t *reply);

/* Opens the file. The path is text (workspace/name.h). */
upload_t *upload_new(exchange_t *exchange, const char *session,
                     const char *path, bool replaces, void *owner,
                     upload_fn *fn);
/* Ends the upload; `fn` is not called any more. */
void upload_destroy(upload_t **self_p);

/* Makes another owner's `fn` be called from now on; between two steps. */
void upload_give(upload_t *self, void *owner, upload_fn *fn);
/* Writes a piece of at most 1 MiB, whose content is taken. */
void upload_write(upload_t *self, buffer_t *piece);
void upload_commit(upload_t *self);
/* Returns the number of bytes written. */
uint64_t upload_size(const upload_t *self);

#endif
