/* See memory_quota.h. */
#include "gateway/http/core/memory_quota.h"

bool memory_quota_set(memory_quotas_t *all, uint64_t *own, uint64_t bytes)
{
    uint64_t wanted = bytes > MEMORY_QUOTA_FREE ? bytes - MEMORY_QUOTA_FREE : 0;

    if (wanted > *own
        && (wanted - *own > all->max - all->taken
            || !memory_share_permits(&all->share, wanted - *own)))
        return false;
    all->taken = all->taken - *own + wanted;
    *own = wanted;
    memory_share_set(&all->share, all->taken + all->untaken);
    return true;
}

void memory_quota_wait(memory_quotas_t *all, int64_t bytes)
{
    all->untaken += (uint64_t) bytes;
    memory_share_set(&all->share, all->taken + all->untaken);
}

bool memory_quota_has_room(memory_quotas_t *all)
{
    return memory_share_permits(&all->share, 0);
}
