/* See process_keys.h. */
#include "gateway/session/processes/process_keys.h"

#include "base/buffer.h"

#include <sodium.h>

#include <string.h>

#define ROOM 64 /* by which the list grows */

void process_keys_clear(process_keys_t *self)
{
    free(self->list);
    *self = (process_keys_t){0};
}

static void digest(const char *key, uint8_t ret_digest[16])
{
    crypto_generichash(ret_digest, 16, (const uint8_t *) key, strlen(key), NULL,
                       0);
}

void process_keys_add(process_keys_t *self, const char *key)
{
    if (self->count == PROCESS_KEYS_MAX) {
        digest(key, self->list[self->next]);
        self->next = (self->next + 1) % PROCESS_KEYS_MAX;
        return;
    }
    if (self->count % ROOM == 0)
        self->list =
            mem_resize(self->list, (self->count + ROOM) * sizeof *self->list);
    digest(key, self->list[self->count++]);
}

bool process_keys_has(const process_keys_t *self, const char *key)
{
    uint8_t wanted[16];

    digest(key, wanted);
    for (size_t i = 0; i < self->count; i++)
        if (memcmp(self->list[i], wanted, sizeof wanted) == 0)
            return true;
    return false;
}
