/* See loss_readers.h. */
#include "gateway/session/core/loss_readers.h"

#include "base/cleanup.h"

#include <sodium.h>

#include <stdio.h>
#include <string.h>

#define ROOM 16 /* by which a list grows */

void loss_readers_digest(const char *identity,
                         char ret_reader[LOSS_READERS_NAME_SIZE])
{
    uint8_t digest[16];

    crypto_generichash(digest, sizeof digest, (const uint8_t *) identity,
                       strlen(identity), NULL, 0);
    sodium_bin2hex(ret_reader, LOSS_READERS_NAME_SIZE, digest, sizeof digest);
}

bool loss_readers_name(const request_t *request,
                       char ret_reader[LOSS_READERS_NAME_SIZE])
{
    cleanup_free char *name = NULL;

    if (!request->is_execute || request->silent)
        return false;
    name = request_reader(request);
    if (!name)
        return false;
    loss_readers_digest(name, ret_reader);
    return true;
}

void loss_readers_clear(loss_readers_t *self)
{
    free(self->list);
    *self = (loss_readers_t){0};
}

bool loss_readers_has(const loss_readers_t *self, const char *reader)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->list[i], reader) == 0)
            return true;
    return false;
}

void loss_readers_add(loss_readers_t *self, const char *reader)
{
    if (loss_readers_has(self, reader)
        || strlen(reader) >= LOSS_READERS_NAME_SIZE)
        return;
    if (self->count == LOSS_READERS_MAX) {
        self->count--;
        memmove(self->list, self->list + 1, self->count * sizeof *self->list);
    }
    if (self->count == self->room) {
        self->room += ROOM;
        self->list = mem_resize(self->list, self->room * sizeof *self->list);
    }
    snprintf(self->list[self->count++], LOSS_READERS_NAME_SIZE, "%s", reader);
}
