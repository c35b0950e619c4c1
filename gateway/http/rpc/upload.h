/* A file on its way into a workspace: opened, written a piece at a time, and
 * given its name at the end. Each step is answered before the next one. What
 * is not committed leaves nothing. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_UPLOAD_H
#define HEARTH_GATEWAY_HTTP_RPC_UPLOAD_H

#include "gateway/http/core/internal.h"

typedef struct push push_t;

/* A step was done, or refused: the reply says which. */
typedef void push_fn(void *owner, const json_t *reply);

/* Opens it. The path is text (workspace/name.h). */
push_t *push_new(exchange_t *exchange, const char *session, const char *path,
                 bool replaces, void *owner, push_fn *fn);
/* `fn` is not called any more. */
void push_destroy(push_t **self_p);

/* Who is told from now on; between two steps. */
void push_give(push_t *self, void *owner, push_fn *fn);
/* What the piece holds is taken; at most 1 MiB. */
void push_write(push_t *self, buffer_t *piece);
void push_commit(push_t *self);
/* Bytes that were written. */
uint64_t push_size(const push_t *self);

#endif
