/* See held_memory.h. */
#include "gateway/session/limits/held_memory.h"

#include "base/buffer.h"

struct held_memory {
    memory_share_t share;
    int64_t patience_ms;
    uint64_t received; /* bytes of the link at the last progress */
    int64_t since;     /* monotonic ms, of that progress; 0: nothing is
                          awaited */
};

held_memory_t *held_memory_new(memory_budget_t *budget, int64_t patience_ms)
{
    held_memory_t *self = mem_new(sizeof *self);

    self->share.budget = budget;
    self->patience_ms = patience_ms;
    return self;
}

void held_memory_destroy(held_memory_t **self_p)
{
    held_memory_t *self = *self_p;

    if (!self)
        return;
    memory_share_set(&self->share, 0);
    free(self);
    *self_p = NULL;
}

bool held_memory_count(held_memory_t *self, const held_memory_load_t *load)
{
    if (!self->share.budget)
        return false;
    memory_share_set(&self->share, load->link + load->peers + load->requests);
    return self->share.bytes > MEMORY_FREE;
}

bool held_memory_permits_reading(held_memory_t *self,
                                 const held_memory_load_t *load, size_t growth)
{
    if (load->link + load->peers + growth <= MEMORY_FREE)
        return true;
    (void) held_memory_count(self, load);
    return memory_share_permits(&self->share, growth);
}

bool held_memory_is_free(size_t waiting)
{
    return waiting <= MEMORY_FREE;
}

bool held_memory_permits_request(held_memory_t *self,
                                 const held_memory_load_t *load, size_t bytes)
{
    (void) held_memory_count(self, load);
    return memory_share_permits(&self->share, bytes);
}

bool held_memory_is_stalled(held_memory_t *self,
                            const held_memory_message_t *message, int64_t now)
{
    /* While the kernel is not read, it cannot make progress. */
    if (message->unfinished <= MEMORY_FREE || message->is_held
        || message->received - self->received >= HELD_MEMORY_STALL_BYTES) {
        self->received = message->received;
        self->since = now;
        return false;
    }
    if (!self->since || now - self->since < self->patience_ms / 2
        || !message->may_end || !memory_budget_is_short(self->share.budget))
        return false;
    self->since = 0;
    return true;
}

const memory_budget_t *held_memory_budget(const held_memory_t *self)
{
    return self->share.budget;
}
