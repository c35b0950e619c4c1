/* See process_writes.h. What an ending gateway had not passed on is missing at
 * the end of what the keeper has got, and nowhere else. So one number says how
 * much of each has come. */
#include "gateway/session/processes/process_writes.h"

#include "protocol/jspan.h"
#include "protocol/jspan_write.h"

#include <sodium.h>

#include <stdio.h>
#include <string.h>

void process_writes_clear(process_writes_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->items[i].key);
    *self = (process_writes_t){0};
}

void process_writes_digest(bytes_t bytes, bool ends,
                           char ret_digest[PROCESS_DIGEST_SIZE])
{
    const uint8_t end = ends;
    crypto_generichash_state state;
    uint8_t digest[(PROCESS_DIGEST_SIZE - 1) / 2];

    crypto_generichash_init(&state, NULL, 0, sizeof digest);
    crypto_generichash_update(&state, &end, 1);
    crypto_generichash_update(&state, bytes.bytes, bytes.size);
    crypto_generichash_final(&state, digest, sizeof digest);
    sodium_bin2hex(ret_digest, PROCESS_DIGEST_SIZE, digest, sizeof digest);
}

process_write_t *process_writes_find(process_writes_t *self, const char *key)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->items[i].key, key) == 0)
            return &self->items[i];
    return NULL;
}

void process_writes_remove(process_writes_t *self, process_write_t *write)
{
    size_t at = (size_t) (write - self->items);

    free(write->key);
    self->count--;
    memmove(write, write + 1, (self->count - at) * sizeof *write);
}

process_write_t *process_writes_add(process_writes_t *self,
                                    const process_write_t *write)
{
    process_write_t *old = process_writes_find(self, write->key);
    process_write_t *added;
    char *key = mem_text(write->key);

    if (old || self->count == PROCESS_WRITES)
        process_writes_remove(self, old ? old : self->items);
    added = &self->items[self->count++];
    *added = *write;
    added->key = key;
    return added;
}

void process_writes_settle(process_writes_t *self, uint64_t came)
{
    for (size_t i = 0; self->is_unsettled && i < self->count; i++) {
        process_write_t *at = &self->items[i];
        uint64_t left = at->size - at->arrived;
        uint64_t more = came > at->from ? came - at->from : 0;

        at->arrived += more < left ? more : left;
    }
    self->is_unsettled = false;
}

void process_write_members(const process_write_t *self, buffer_t *out)
{
    jspan_write_text(out, "key", self->key);
    jspan_write_text(out, "digest", self->digest);
    jspan_write_count(out, "size", self->size);
    jspan_write_count(out, "arrived", self->arrived);
    jspan_write_count(out, "from", self->from);
    jspan_write_count(out, "output", self->output);
}

static uint64_t count_of(jspan_t object, const char *name)
{
    int64_t value = 0;

    return jspan_to_integer(jspan_member(object, name), &value) && value > 0
               ? (uint64_t) value
               : 0;
}

void process_writes_recall(process_writes_t *self, jspan_t object)
{
    cleanup_free char *key = jspan_text_new(jspan_member(object, "key"));
    cleanup_free char *digest = jspan_text_new(jspan_member(object, "digest"));
    process_write_t write = {.key = key,
                             .size = count_of(object, "size"),
                             .arrived = count_of(object, "arrived"),
                             .from = count_of(object, "from"),
                             .output = count_of(object, "output")};

    if (!key || !digest || write.arrived > write.size)
        return;
    snprintf(write.digest, sizeof write.digest, "%s", digest);
    process_writes_add(self, &write);
}
