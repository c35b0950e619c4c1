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

    if (!request_is_execute(request) || request->silent)
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

/* Returns the index of a reader; the number of readers if it is not there. */
static size_t index_of(const loss_readers_t *self, const char *reader)
{
    size_t i = 0;

    while (i < self->count && strcmp(self->list[i].name, reader) != 0)
        i++;
    return i;
}

bool loss_readers_has(const loss_readers_t *self, const char *reader)
{
    return index_of(self, reader) < self->count;
}

uint64_t loss_readers_number(const loss_readers_t *self, const char *reader)
{
    size_t i = index_of(self, reader);

    return i < self->count ? self->list[i].number : 0;
}

static void remove_at(loss_readers_t *self, size_t index)
{
    loss_reader_t *at = self->list + index;

    self->count--;
    memmove(at, at + 1, (self->count - index) * sizeof *at);
}

void loss_readers_add(loss_readers_t *self, const char *reader, uint64_t number)
{
    size_t i = index_of(self, reader);
    bool is_known = i < self->count;
    loss_reader_t *added;

    if ((is_known && self->list[i].number == number)
        || strlen(reader) >= LOSS_READERS_NAME_SIZE)
        return;
    if (is_known || self->count == LOSS_READERS_MAX)
        remove_at(self, is_known ? i : 0);
    if (self->count == self->room) {
        self->room += ROOM;
        self->list = mem_resize(self->list, self->room * sizeof *self->list);
    }
    added = &self->list[self->count++];
    added->number = number;
    snprintf(added->name, sizeof added->name, "%s", reader);
}
