/* See memory_budget.h. The counters are atomic, each by itself: two threads
 * that ask at the same moment may both be permitted what only one of them
 * should have, once. */
#include "base/memory_budget.h"

#include "base/buffer.h"
#include "base/clock.h"

#include <stdatomic.h>

struct memory_budget {
    uint64_t max;
    atomic_uint_least64_t held;
    atomic_uint_least64_t refusals;
    atomic_int_least64_t refused_ms; /* monotonic; 0: never */
};

memory_budget_t *memory_budget_new(uint64_t max)
{
    memory_budget_t *self = mem_new(sizeof *self);

    self->max = max;
    atomic_init(&self->held, 0);
    atomic_init(&self->refusals, 0);
    atomic_init(&self->refused_ms, 0);
    return self;
}

void memory_budget_destroy(memory_budget_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

uint64_t memory_budget_max(const memory_budget_t *self)
{
    return self->max;
}

uint64_t memory_budget_held(const memory_budget_t *self)
{
    return atomic_load(&self->held);
}

uint64_t memory_budget_refusals(const memory_budget_t *self)
{
    return atomic_load(&self->refusals);
}

bool memory_budget_is_short(const memory_budget_t *self)
{
    int64_t refused = atomic_load(&self->refused_ms);

    return refused && clock_monotonic_ms() - refused < MEMORY_SHORT_MS;
}

static uint64_t counted(uint64_t bytes)
{
    return bytes > MEMORY_FREE ? bytes - MEMORY_FREE : 0;
}

void memory_share_set(memory_share_t *self, uint64_t bytes)
{
    uint64_t before = counted(self->bytes), after = counted(bytes);

    self->bytes = bytes;
    if (!self->budget)
        return;
    if (after > before)
        atomic_fetch_add(&self->budget->held, after - before);
    else if (after < before)
        atomic_fetch_sub(&self->budget->held, before - after);
}

bool memory_share_permits(memory_share_t *self, uint64_t more)
{
    uint64_t before = counted(self->bytes), after = counted(self->bytes + more);
    uint64_t held, left;

    if (!self->budget || !after)
        return true;
    held = atomic_load(&self->budget->held) + (after - before);
    left = held < self->budget->max ? self->budget->max - held : 0;
    if (after / 2 <= left && left)
        return true;
    atomic_fetch_add(&self->budget->refusals, 1);
    atomic_store(&self->budget->refused_ms, clock_monotonic_ms());
    return false;
}
