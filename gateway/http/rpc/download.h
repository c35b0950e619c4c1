/* A file of a workspace on its way out, piece by piece: one piece is there,
 * the next one is on its way, more are not asked for. What comes is the file
 * as it was when it was opened, or a failure. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_DOWNLOAD_H
#define HEARTH_GATEWAY_HTTP_RPC_DOWNLOAD_H

#include "gateway/http/core/internal.h"

typedef struct pull pull_t;

/* Something has come, or it failed. */
typedef void pull_ready_fn(void *owner);

/* Opens it; `ready` tells when pull_entry has it, and from then on when
 * pull_next has more. The path is text (workspace/name.h). */
pull_t *pull_new(exchange_t *exchange, const char *session, const char *path,
                 void *owner, pull_ready_fn *ready);
/* The file is let go of; `ready` is not called any more. */
void pull_destroy(pull_t **self_p);
#define cleanup_pull CLEANUP(pull_destroy)

/* Whose `ready` is called from now on. */
void pull_give(pull_t *self, void *owner, pull_ready_fn *ready);

/* What the gateway answered: `entry` in it, or what was wrong; NULL: not yet.
 * Lent. After a failure later on it is that failure. */
const json_t *pull_answer(const pull_t *self);
uint64_t pull_size(const pull_t *self);

/* From where on and how much is read next; at first the whole. */
void pull_seek(pull_t *self, uint64_t from, uint64_t size);
/* Appends the next piece, at most COURIER_PIECE. 1: there will be more, and
 * `ready` tells when nothing was appended; 0: that was all; negative: it
 * failed. */
int pull_next(pull_t *self, buffer_t *out);

#endif
