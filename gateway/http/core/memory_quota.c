/* See memory_quota.h. */
#include "gateway/http/core/memory_quota.h"

bool holding_set(holdings_t *all, uint64_t *own, uint64_t bytes)
{
    uint64_t wanted = bytes > HOLDING_FREE ? bytes - HOLDING_FREE : 0;

    if (wanted > *own && wanted - *own > all->max - all->taken)
        return false;
    all->taken = all->taken - *own + wanted;
    *own = wanted;
    return true;
}
