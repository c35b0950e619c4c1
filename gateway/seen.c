/* See seen.h. A set of 64-bit SipHashes under a key of this process's own, so
 * that nobody can choose ids that fall together. Beside a million of them a new
 * id is taken for an old one with odds of 1 to 10^13; what its client gets then
 * is an error that says so (intake.c). An open table: there is nothing but the
 * fingerprints in it. Owned by its session, and of its thread. */
#include "gateway/seen.h"

#include "base/buffer.h"

#include <sodium.h>

#include <stdint.h>
#include <string.h>

#define SLOTS_MIN 32 /* a power of two */

struct seen {
    uint8_t key[crypto_shorthash_KEYBYTES];
    uint64_t *slots;   /* owned; 0: free */
    size_t slot_count; /* a power of two, or 0 */
    size_t count;      /* slots that are taken: seven of eight at most */
};

void seen_destroy(seen_t **self_p)
{
    seen_t *self = *self_p;

    if (!self)
        return;
    free(self->slots);
    free(self);
    *self_p = NULL;
}

seen_t *seen_new(void)
{
    seen_t *self = mem_new(sizeof *self);

    randombytes_buf(self->key, sizeof self->key);
    return self;
}

static uint64_t fingerprint(const seen_t *self, const char *id)
{
    uint8_t bytes[crypto_shorthash_BYTES];
    uint64_t hash;

    crypto_shorthash(bytes, (const uint8_t *) id, strlen(id), self->key);
    memcpy(&hash, bytes, sizeof hash);
    return hash ? hash : 1;
}

/* Where it is, or the free slot where it would be. */
static uint64_t *find(const seen_t *self, uint64_t hash)
{
    size_t at = (size_t) hash & (self->slot_count - 1);

    while (self->slots[at] && self->slots[at] != hash)
        at = (at + 1) & (self->slot_count - 1);
    return &self->slots[at];
}

static void grow(seen_t *self)
{
    cleanup_free uint64_t *old = self->slots;
    size_t old_count = self->slot_count;

    self->slot_count = old_count ? 2 * old_count : SLOTS_MIN;
    self->slots = mem_new(self->slot_count * sizeof *self->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i])
            *find(self, old[i]) = old[i];
}

void seen_add(seen_t *self, const char *id)
{
    uint64_t hash = fingerprint(self, id), *slot;

    if (self->count + 1 > self->slot_count / 8 * 7)
        grow(self);
    slot = find(self, hash);
    self->count += *slot == 0;
    *slot = hash;
}

bool seen_has(const seen_t *self, const char *id)
{
    return self->slot_count && *find(self, fingerprint(self, id));
}

size_t seen_count(const seen_t *self)
{
    return self->count;
}

size_t seen_bytes(const seen_t *self)
{
    return self->slot_count * sizeof *self->slots;
}
