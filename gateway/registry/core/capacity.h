/* How many sessions fit by their descriptors (gateway/config/fd_limits.h).
 * Sessions that are gone have some, too: the oldest give them up when others
 * need the room. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_CAPACITY_H
#define HEARTH_GATEWAY_REGISTRY_CORE_CAPACITY_H

#include "base/cleanup.h"
#include "gateway/config/options.h"
#include "gateway/registry/core/session_table.h"

typedef struct capacity capacity_t;

/* Returns how many users of descriptors are like a session and are not in the
 * table: requests that wait for their start, and endpoints of viewers. */
typedef size_t capacity_others_fn(void *arg);

/* Returns a capacity for at most `sessions`. At most `gone_max` of them may be
 * gone, and no more than a quarter. `table` and `arg` are borrowed. */
capacity_t *capacity_new(session_table_t *table, size_t sessions,
                         size_t gone_max, capacity_others_fn *others,
                         void *arg);
void capacity_destroy(capacity_t **self_p);
#define cleanup_capacity CLEANUP(capacity_destroy)

/* Returns how many sessions the descriptors permit; logs a warning if these
 * are fewer than the options permit. */
size_t capacity_measure(const options_t *options);
/* Returns how many sessions fit. */
size_t capacity_sessions(const capacity_t *self);
/* Returns true if one session more fits. */
bool capacity_is_left(const capacity_t *self);
/* Returns the gone session that has to give up its ports next, NULL if none
 * has to. */
session_entry_t *capacity_next_forgotten(const capacity_t *self);
/* Asks all these sessions to give up their ports. */
void capacity_forget_gone(capacity_t *self);

#endif
