/* The signatures that a socket has seen: their digests in the order of
 * arrival, and a hash table of places in that order. One thread. */
#include "protocol/replay_guard.h"

#include "base/buffer.h"

#include <stdint.h>
#include <string.h>

#define FIRST_CAPACITY 64
#define FREE           0 /* in the table; else the place + 1 */

typedef struct {
    uint8_t bytes[SECRET_DIGEST_SIZE];
} digest_t;

struct replay_guard {
    digest_t *digests; /* owned; the oldest first */
    size_t count;
    size_t capacity; /* of digests; the table has twice as many slots */
    size_t limit;
    uint32_t *table; /* owned; open addressing, a power of two of slots */
};

replay_guard_t *replay_guard_new(size_t limit)
{
    replay_guard_t *self = mem_new(sizeof *self);
    self->limit = limit > 0 ? limit : 1;
    return self;
}

void replay_guard_destroy(replay_guard_t **self_p)
{
    replay_guard_t *self = *self_p;
    if (self == NULL)
        return;
    free(self->table);
    free(self->digests);
    free(self);
    *self_p = NULL;
}

/* Returns the slot of the digest, or the free one where it belongs. Digests of
 * an unknown key are as good as random: the first bytes are their hash. */
static uint32_t *find(const replay_guard_t *self, const digest_t *digest)
{
    size_t mask = 2 * self->capacity - 1;
    uint64_t hash;
    memcpy(&hash, digest->bytes, sizeof hash);
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
        uint32_t place = self->table[slot];
        if (place == FREE
            || memcmp(&self->digests[place - 1], digest, sizeof *digest) == 0)
            return &self->table[slot];
    }
}

static void fill_table(replay_guard_t *self)
{
    memset(self->table, 0, 2 * self->capacity * sizeof *self->table);
    for (size_t i = 0; i < self->count; i++)
        *find(self, &self->digests[i]) = (uint32_t) (i + 1);
}

static void grow(replay_guard_t *self)
{
    self->capacity = self->capacity > 0 ? 2 * self->capacity : FIRST_CAPACITY;
    self->digests =
        mem_resize(self->digests, self->capacity * sizeof *self->digests);
    self->table =
        mem_resize(self->table, 2 * self->capacity * sizeof *self->table);
    fill_table(self);
}

static void forget_oldest(replay_guard_t *self)
{
    size_t gone = (self->count + 9) / 10;
    self->count -= gone;
    memmove(self->digests, self->digests + gone,
            self->count * sizeof *self->digests);
    fill_table(self);
}

bool replay_guard_add(replay_guard_t *self,
                      const uint8_t bytes[SECRET_DIGEST_SIZE])
{
    digest_t digest;
    memcpy(digest.bytes, bytes, sizeof digest.bytes);
    if (self->count == self->capacity && self->count < self->limit)
        grow(self);
    uint32_t *slot = find(self, &digest);
    if (*slot != FREE)
        return false;
    if (self->count == self->limit) {
        forget_oldest(self);
        slot = find(self, &digest);
    }
    self->digests[self->count++] = digest;
    *slot = (uint32_t) self->count;
    return true;
}
