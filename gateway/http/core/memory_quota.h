/* The memory that clients' data take: bodies and WebSocket messages that were
 * received and not used yet, and messages that wait to be sent to WebSockets. A
 * small part per connection is free. The rest has one bound for all connections
 * together: otherwise a thousand connections could fill the memory, each within
 * its own limit. All of it is a share of the gateway's bound. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_MEMORY_QUOTA_H
#define HEARTH_GATEWAY_HTTP_CORE_MEMORY_QUOTA_H

#include "base/memory_budget.h"

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_QUOTA_FREE     (64u << 10) /* bytes per connection */
#define MEMORY_QUOTA_PATIENCE 5           /* seconds; for others to finish */

/* The quota of a gateway. */
typedef struct {
    uint64_t taken;       /* bytes */
    uint64_t max;         /* bound */
    uint64_t untaken;     /* bytes that wait for WebSockets */
    memory_share_t share; /* of the gateway's memory */
} memory_quotas_t;

/* Sets this connection's buffered size to `bytes`; *own is updated to its share
 * of the quota. Returns false if there is no room; then nothing has changed. A
 * smaller size always succeeds. */
bool memory_quota_set(memory_quotas_t *all, uint64_t *own, uint64_t bytes);

/* Adds `bytes`, which may be negative, to the bytes that wait for
 * WebSockets. */
void memory_quota_wait(memory_quotas_t *all, int64_t bytes);
/* Returns true if more may wait. */
bool memory_quota_has_room(memory_quotas_t *all);

#endif
