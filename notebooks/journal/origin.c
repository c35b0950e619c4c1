/* See origin.h. Plain data: of whoever reads, in his thread. */
#include "notebooks/journal/origin.h"

#include "protocol/json.h"

#include <sodium.h>

#include <string.h>

void origin_clear(origin_t *self)
{
    buffer_reset(&self->header);
    *self = (origin_t) ORIGIN_EMPTY;
}

/* {"channel","front","identities":[hex of the viewer's name]} */
static void read_viewer(origin_t *self, json_span_t origin, const char *front)
{
    json_span_t identities = json_member(origin, "identities"), hex;
    size_t cursor = 0, size = 0;

    if (!json_text_equals(json_member(origin, "front"), front)
        || !json_each(identities, &cursor, NULL, &hex))
        return;
    cleanup_free char *text = json_text_new(hex);
    if (!text
        || sodium_hex2bin((uint8_t *) self->viewer, FRONT_VIEWER_MAX, text,
                          strlen(text), NULL, &size, NULL)
               < 0)
        size = 0;
    self->viewer[size] = '\0';
}

void origin_read(origin_t *self, const journal_record_t *record,
                 const char *front)
{
    json_span_t origin = {0};
    fault_t fault;

    origin_clear(self);
    self->number = record->request;
    buffer_append(&self->header, record->header.bytes, record->header.size);
    if (json_check(record->origin.bytes, record->origin.size, &origin, &fault)
        < 0)
        return;
    cleanup_free char *channel = json_text_new(json_member(origin, "channel"));
    if (channel)
        self->channel = channel_from_name(channel, strlen(channel));
    if (self->channel >= CHANNEL_COUNT)
        self->channel = CHANNEL_SHELL;
    read_viewer(self, origin, front);
}

void origin_find(origin_t *self, positions_t *positions, const char *folder,
                 const uint8_t *key, uint64_t number, const char *front)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;

    origin_clear(self);
    self->number = number;
    if (positions_find_request(positions, folder, key, number, &reader,
                               &record))
        origin_read(self, &record, front);
}

bytes_t origin_header(const origin_t *self)
{
    return (bytes_t){self->header.data, self->header.size};
}
