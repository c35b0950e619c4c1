/* See lent_parts.h. */
#include "notebooks/journal/lent_parts.h"

#include "notebooks/journal/blobs.h"

#include <string.h>

void lent_parts_forget(lent_parts_t *self)
{
    for (size_t i = 0; i < self->loaded_max; i++)
        buffer_reset(&self->loaded[i]);
}

void lent_parts_clear(lent_parts_t *self)
{
    lent_parts_forget(self);
    free(self->loaded);
    free(self->buffers);
    *self = (lent_parts_t){0};
}

static void make_room(lent_parts_t *self, size_t buffers)
{
    size_t count = RECORD_PARTS + buffers;

    if (self->loaded_max < count) {
        self->loaded = mem_resize(self->loaded, count * sizeof(*self->loaded));
        memset(self->loaded + self->loaded_max, 0,
               (count - self->loaded_max) * sizeof(*self->loaded));
        self->loaded_max = count;
    }
    if (self->buffers_max < buffers) {
        self->buffers =
            mem_resize(self->buffers, buffers * sizeof(*self->buffers));
        self->buffers_max = buffers;
    }
}

int lent_parts_load(lent_parts_t *self, int folder,
                    const stored_record_t *entry, journal_record_t *ret_record,
                    fault_t *fault)
{
    journal_record_t record = entry->record;
    bytes_t *parts[] = {&record.origin, &record.header, &record.metadata,
                        &record.content};
    size_t cursor = 0;
    size_t offset = 0;
    bytes_t stored;
    bool is_spilled;

    make_room(self, record.buffer_count);
    while (record_each(entry, &cursor, &offset, &stored, &is_spilled)) {
        size_t index = cursor - 1;
        buffer_t *loaded = &self->loaded[index];
        bytes_t *part = index < RECORD_PARTS
                            ? parts[index]
                            : &self->buffers[index - RECORD_PARTS];
        *part = stored;
        if (!is_spilled)
            continue;
        int result = blob_read(folder, stored.bytes, loaded, fault);
        if (result < 0)
            return result;
        *part = buffer_bytes(loaded);
    }
    record.buffers = record.buffer_count ? self->buffers : NULL;
    *ret_record = record;
    return 0;
}
