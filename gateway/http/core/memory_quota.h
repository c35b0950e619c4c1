/* What clients have sent and nobody has taken yet: bodies, and messages to
 * WebSockets, as far as they lie in memory. A little of each costs nothing;
 * what is beyond has one bound for all connections together, or a thousand of
 * them could fill the memory with what each is permitted. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_MEMORY_QUOTA_H
#define HEARTH_GATEWAY_HTTP_CORE_MEMORY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#define HOLDING_FREE     (64u << 10) /* bytes of a connection */
#define HOLDING_PATIENCE 5 /* seconds; others may be through by then */

/* Of a gateway. */
typedef struct {
    uint64_t taken; /* bytes */
    uint64_t max;   /* that there may be */
} holdings_t;

/* From now on a connection holds so many bytes; *own is its part of those that
 * count. False: there is no room, and nothing has changed. Fewer always do. */
bool holding_set(holdings_t *all, uint64_t *own, uint64_t bytes);

#endif
