/* See msgid_set.h. A set of 64-bit SipHashes under a key of this process, so
 * that no client can choose ids that collide. With a million known ids, a new
 * one is taken for an old one with odds of 1 to 10^13. Its client then gets an
 * error that says so. An open hash table that holds only the fingerprints.
 * Owned by its session and used by its thread. */
#include "protocol/msgid_set.h"

#include "base/buffer.h"

#include <sodium.h>

#include <stdint.h>
#include <string.h>

#define SLOTS_MIN 32 /* a power of two */

typedef struct {
    uint64_t *slots;   /* owned; 0: free */
    size_t slot_count; /* a power of two, or 0 */
    size_t count;      /* slots that are taken: seven of eight at most */
} table_t;

struct msgid_set {
    uint8_t key[crypto_shorthash_KEYBYTES];
    size_t max;      /* ids of one table */
    table_t latest;  /* the table that grows */
    table_t earlier; /* the full one before it; dropped when `latest` is full,
                        too */
};

void msgid_set_destroy(msgid_set_t **self_p)
{
    msgid_set_t *self = *self_p;

    if (!self)
        return;
    free(self->earlier.slots);
    free(self->latest.slots);
    free(self);
    *self_p = NULL;
}

msgid_set_t *msgid_set_new(size_t max)
{
    msgid_set_t *self = mem_new(sizeof *self);

    randombytes_buf(self->key, sizeof self->key);
    self->max = max;
    return self;
}

static uint64_t fingerprint(const msgid_set_t *self, const char *id)
{
    uint8_t bytes[crypto_shorthash_BYTES];
    uint64_t hash;

    crypto_shorthash(bytes, (const uint8_t *) id, strlen(id), self->key);
    memcpy(&hash, bytes, sizeof hash);
    return hash ? hash : 1;
}

/* Returns the slot of the hash, or the free slot where it would be. */
static uint64_t *find(const table_t *table, uint64_t hash)
{
    size_t at = (size_t) hash & (table->slot_count - 1);

    while (table->slots[at] && table->slots[at] != hash)
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

static bool has(const table_t *table, uint64_t hash)
{
    return table->slot_count && *find(table, hash);
}

static void grow(table_t *table)
{
    cleanup_free uint64_t *old = table->slots;
    size_t old_count = table->slot_count;

    table->slot_count = old_count ? 2 * old_count : SLOTS_MIN;
    table->slots = mem_new(table->slot_count * sizeof *table->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i])
            *find(table, old[i]) = old[i];
}

void msgid_set_add(msgid_set_t *self, const char *id)
{
    uint64_t hash = fingerprint(self, id);
    table_t *latest = &self->latest;

    if (has(latest, hash))
        return;
    if (latest->count == self->max) {
        free(self->earlier.slots);
        self->earlier = *latest;
        *latest = (table_t){0};
    }
    if (latest->count + 1 > latest->slot_count / 8 * 7)
        grow(latest);
    *find(latest, hash) = hash;
    latest->count++;
}

bool msgid_set_has(const msgid_set_t *self, const char *id)
{
    uint64_t hash = fingerprint(self, id);

    return has(&self->latest, hash) || has(&self->earlier, hash);
}

size_t msgid_set_count(const msgid_set_t *self)
{
    return self->latest.count + self->earlier.count;
}

size_t msgid_set_bytes(const msgid_set_t *self)
{
    return (self->latest.slot_count + self->earlier.slot_count)
           * sizeof(uint64_t);
}
