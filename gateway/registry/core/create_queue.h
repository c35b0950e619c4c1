/* The requests for a session that wait: for their turn, or for the end of an
 * older session that they replace (replacements.h). In the order in which they
 * came; create.c bounds how many there are. Belongs to the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_CREATE_QUEUE_H
#define HEARTH_GATEWAY_REGISTRY_CORE_CREATE_QUEUE_H

#include "base/cleanup.h"
#include "gateway/registry/core/session_table.h"
#include "protocol/message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct create_queue create_queue_t;

/* Returns an empty queue, which the caller owns. The table is borrowed. */
create_queue_t *create_queue_new(const session_table_t *table);
/* Drops the requests. */
void create_queue_destroy(create_queue_t **self_p);
#define cleanup_create_queue CLEANUP(create_queue_destroy)

/* Adds a request that waits for the end of `older`, which is asked to end; or
 * for its turn, if that is NULL. The queue owns the request and a reference to
 * its parsed content. `asked_us` is when it came, monotonic. */
void create_queue_add(create_queue_t *self, json_t *content,
                      message_t **request_p, const session_entry_t *older,
                      int64_t asked_us);
/* Takes the first request whose turn it is out of the queue. The caller owns
 * it, and the reference to its content; NULL if it is no request's turn. A
 * request stays if its older session is gone and another session has taken the
 * connection file since. That session is asked to end, and the request waits
 * for that. */
message_t *create_queue_next(create_queue_t *self, json_t **ret_content,
                             int64_t *ret_asked_us);
/* Takes the first request out of the queue, whatever it waits for; the caller
 * owns it. NULL if the queue is empty. */
message_t *create_queue_give_up(create_queue_t *self);

/* Returns how many requests wait. */
size_t create_queue_size(const create_queue_t *self);
/* Returns true if a request waits for the end of that session. */
bool create_queue_awaits(const create_queue_t *self,
                         const session_entry_t *older);
/* Returns true if a request waits for its turn. */
bool create_queue_has_line(const create_queue_t *self);
/* Returns how many sessions there will be beside those that are alive: a
 * request whose older session is alive takes the place of that one. */
size_t create_queue_sessions(const create_queue_t *self);

#endif
