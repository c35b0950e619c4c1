/* The requests for sessions: answered out of the pool, by a fork, after waiting
 * in a queue, or with a refusal. Belongs to the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_SESSIONS_CREATE_H
#define HEARTH_GATEWAY_REGISTRY_SESSIONS_CREATE_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"
#include "gateway/registry/launch/pool.h"
#include "protocol/message.h"

#include <jansson.h>

typedef struct create create_t;

/* Returns the maker of sessions, without requests; the caller owns it. `parts`
 * is borrowed, and may be filled later. */
create_t *create_new(const registry_parts_t *parts);
/* Drops the requests that wait. */
void create_destroy(create_t **self_p);
#define cleanup_create CLEANUP(create_destroy)

/* Makes the pool's sessions; its argument is a create_t. */
extern const pool_source_t create_pool_source;

/* Takes a request for a session. Keeps references to its content, which nothing
 * changes, for as long as the request waits. Requests are served in the order
 * they came, except that one which replaces an older session waits until that
 * is gone. */
void create_make(create_t *self, json_t *content, message_t **request_p);
/* Takes a request once more because its session has ended before the client had
 * it. The pool does not count it as a further one. */
void create_again(create_t *self, json_t *content, message_t **request_p);
/* Starts sessions for requests that wait, as far as permitted. Called when a
 * start is over or a session was removed. */
void create_next(create_t *self);
/* Refuses the requests that wait, because the gateway stops. */
void create_stop(create_t *self);
/* Counts how long a start took, for the advice when to try again. */
void create_count_start(create_t *self, int64_t ms);
/* Returns how many requests wait for their turn, or a session's end. */
size_t create_waiting(const create_t *self);

#endif
