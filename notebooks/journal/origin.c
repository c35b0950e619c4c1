/* See origin.h. Plain data, owned by the reader and used in its thread. */
#include "notebooks/journal/origin.h"

#include "protocol/jspan.h"

#include <sodium.h>

#include <string.h>

void origin_clear(origin_t *self)
{
    buffer_reset(&self->header);
    *self = (origin_t) ORIGIN_EMPTY;
}

/* Reads {"channel","front","identities":[hex of the viewer's name]}. */
static void read_client(origin_t *self, jspan_t origin, const char *frontend)
{
    jspan_t identities = jspan_member(origin, "identities"), hex;
    size_t cursor = 0, size = 0;

    if (!jspan_text_equals(jspan_member(origin, "front"), frontend)
        || !jspan_each(identities, &cursor, NULL, &hex))
        return;
    cleanup_free char *text = jspan_text_new(hex);
    if (!text
        || sodium_hex2bin((uint8_t *) self->client, FRONTEND_CLIENT_MAX, text,
                          strlen(text), NULL, &size, NULL)
               < 0)
        size = 0;
    self->client[size] = '\0';
}

void origin_read(origin_t *self, const journal_record_t *record,
                 const char *frontend)
{
    jspan_t origin = {0};
    fault_t fault;

    origin_clear(self);
    self->number = record->request;
    buffer_append(&self->header, record->header.bytes, record->header.size);
    if (jspan_check(record->origin.bytes, record->origin.size, &origin, &fault)
        < 0)
        return;
    cleanup_free char *channel =
        jspan_text_new(jspan_member(origin, "channel"));
    if (channel)
        self->channel = channel_from_name(channel, strlen(channel));
    if (self->channel >= CHANNEL_COUNT)
        self->channel = CHANNEL_SHELL;
    read_client(self, origin, frontend);
}

void origin_find(origin_t *self, journal_index_t *index, const char *folder,
                 const uint8_t *key, uint64_t number, const char *frontend)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;

    origin_clear(self);
    self->number = number;
    if (journal_index_find_request(index, folder, key, number, &reader,
                                   &record))
        origin_read(self, &record, frontend);
}

bytes_t origin_header(const origin_t *self)
{
    return buffer_bytes(&self->header);
}
