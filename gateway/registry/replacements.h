/* Requests for a session with a connection file that an older session has: the
 * same file, or one with the same ports. The client starts its kernel anew, so
 * the older session is ended, and the request waits until its ports are free.
 * A key alone is no sign: clients may give one key to many kernels. Belongs to
 * the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_REPLACEMENTS_H
#define HEARTH_GATEWAY_REGISTRY_REPLACEMENTS_H

#include "base/cleanup.h"
#include "gateway/registry/session_table.h"
#include "protocol/message.h"

#include <jansson.h>

typedef struct replacements replacements_t;

/* The table is borrowed. */
replacements_t *replacements_new(const session_table_t *table);
/* Drops the requests that wait. */
void replacements_destroy(replacements_t **self_p);
#define cleanup_replacements CLEANUP(replacements_destroy)

/* Returns true, and takes the request, if an older session has its connection
 * file; that one is asked to end. */
bool replacements_take(replacements_t *self, const json_t *content,
                       message_t **request_p);
/* Returns a request that does not have to wait any more, which the caller owns;
 * NULL if there is none. */
message_t *replacements_next(replacements_t *self);
/* Returns a request that waits, whatever it waits for, likewise. */
message_t *replacements_give_up(replacements_t *self);
/* Returns how many requests wait. */
size_t replacements_waiting(const replacements_t *self);

#endif
