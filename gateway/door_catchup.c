/* What a viewer has missed is read from his session's journal: while he took
 * nothing, and while there was no gateway. What the journal does not hold
 * follows from what it does: a request makes busy, its reply makes idle. */
#include "gateway/doors_internal.h"

#include "base/log.h"
#include "gateway/front_link.h"
#include "protocol/json.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#define BATCH 256 /* records in a row, then others have their turn */

/* A request as its records know it. */
typedef struct {
    uint64_t number;
    buffer_t header; /* owned */
    channel_t channel;
    char viewer[FRONT_VIEWER_MAX + 1]; /* "": none of this door's */
} origin_t;

static bytes_t part_bytes(journal_part_t part)
{
    return (bytes_t){part.bytes, part.size};
}

static bytes_t header_of(const origin_t *origin)
{
    return (bytes_t){origin->header.data, origin->header.size};
}

static void clear_origin(origin_t *self)
{
    buffer_reset(&self->header);
    *self = (origin_t){.channel = CHANNEL_SHELL};
}

/* {"channel","front","identities":[hex of the viewer's name]} */
static void read_viewer(const door_t *door, json_span_t origin, origin_t *ret)
{
    json_span_t identities = json_member(origin, "identities"), hex;
    size_t cursor = 0, size = 0;

    if (!json_text_equals(json_member(origin, "front"), DOORS_FRONT)
        || !json_each(identities, &cursor, NULL, &hex))
        return;
    cleanup_free char *text = json_text_new(hex);
    if (!text
        || sodium_hex2bin((uint8_t *) ret->viewer, FRONT_VIEWER_MAX, text,
                          strlen(text), NULL, &size, NULL)
               < 0)
        size = 0;
    ret->viewer[size] = '\0';
    if (!door_owns(door, (bytes_t){ret->viewer, size}))
        ret->viewer[0] = '\0';
}

static void read_origin(const door_t *door, const journal_record_t *record,
                        origin_t *ret)
{
    json_span_t origin = {0};
    fault_t fault;

    clear_origin(ret);
    ret->number = record->request;
    buffer_append(&ret->header, record->header.bytes, record->header.size);
    if (json_check(record->origin.bytes, record->origin.size, &origin, &fault)
        < 0)
        return;
    cleanup_free char *channel = json_text_new(json_member(origin, "channel"));
    if (channel)
        ret->channel = front_channel((bytes_t){channel, strlen(channel)});
    if (ret->channel >= CHANNEL_COUNT)
        ret->channel = CHANNEL_SHELL;
    read_viewer(door, origin, ret);
}

/* A request that stands before the cursor. */
static void search_origin(const door_t *door, uint64_t number, origin_t *ret)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;

    clear_origin(ret);
    ret->number = number;
    if (positions_find_request(&door->aim->positions, door->aim->journal,
                               door->keeper->journal_key, number, &reader,
                               &record))
        read_origin(door, &record, ret);
}

static void tell_event(door_t *self, const journal_record_t *record,
                       const origin_t *origin)
{
    cleanup_free bytes_t *buffers =
        mem_new((record->buffer_count + 1) * sizeof *buffers);
    bool is_question = strcmp(record->type, "input_request") == 0;

    for (size_t i = 0; i < record->buffer_count; i++)
        buffers[i] = part_bytes(record->buffers[i]);
    const wire_parts_t parts = {.header = part_bytes(record->header),
                                .parent = header_of(origin),
                                .metadata = part_bytes(record->metadata),
                                .content = part_bytes(record->content),
                                .buffers = buffers,
                                .buffer_count = record->buffer_count};
    if (!is_question)
        door_publish(self, &parts);
    else if (origin->viewer[0])
        door_send(self, CHANNEL_STDIN,
                  (bytes_t){origin->viewer, strlen(origin->viewer)}, &parts);
}

static void tell_reply(door_t *self, const journal_record_t *record,
                       const origin_t *origin)
{
    const wire_parts_t parts = {.header = part_bytes(record->header),
                                .parent = header_of(origin),
                                .metadata = part_bytes(record->metadata),
                                .content = part_bytes(record->content)};

    if (origin->viewer[0] && record->type[0])
        door_send(self, origin->channel,
                  (bytes_t){origin->viewer, strlen(origin->viewer)}, &parts);
    door_status(self, "idle", header_of(origin));
    self->idled[self->idled_at++ % DOOR_IDLED] = record->request;
}

/* Outputs that were given up: said where they would have stood. */
static void tell_gap(door_t *self, const origin_t *origin)
{
    static const char content[] =
        "{\"name\":\"stderr\",\"text\":\"[hearth: outputs that were missed "
        "are no longer kept]\\n\"}";

    door_publish_made(self, "stream", header_of(origin),
                      (bytes_t){content, sizeof content - 1});
}

/* A reply that went out last may have gone with the gateway that sent it. */
static void tell(door_t *self, const journal_record_t *record, origin_t *origin)
{
    if (record->seq < self->cursor
        || (record->seq == self->cursor && record->kind != JOURNAL_REPLY))
        return;
    if (record->kind == JOURNAL_REQUEST)
        read_origin(self, record, origin);
    else if (!record->request)
        clear_origin(origin);
    else if (record->request != origin->number)
        search_origin(self, record->request, origin);
    if (record->kind == JOURNAL_REQUEST)
        door_status(self, "busy", header_of(origin));
    else if (record->kind == JOURNAL_EVENT)
        tell_event(self, record, origin);
    else if (record->kind == JOURNAL_REPLY)
        tell_reply(self, record, origin);
    else if (record->kind == JOURNAL_GAP)
        tell_gap(self, origin);
    self->cursor = record->seq;
}

static void stop(door_t *self)
{
    self->is_behind = false;
    journal_reader_destroy(&self->reader);
}

static bool open_journal(door_t *self)
{
    uint64_t since = self->cursor ? self->cursor - 1 : 0;
    fault_t fault;

    if (self->reader)
        return true;
    if (positions_open(&self->aim->positions, self->aim->journal,
                       self->keeper->journal_key, since, &self->reader, &fault)
        == 0)
        return true;
    log_warning("viewer=%s the journal cannot be read: %s", self->name,
                fault.text);
    return false;
}

void door_catch_up(door_t *self)
{
    origin_t origin = {.channel = CHANNEL_SHELL};
    journal_record_t record;
    fault_t fault;
    int r = 1;

    if (!open_journal(self)) {
        stop(self);
        return;
    }
    for (int i = 0; i < BATCH && !door_is_full(self); i++) {
        r = journal_reader_next(self->reader, &record, &fault);
        if (r <= 0)
            break;
        positions_note(&self->aim->positions, self->reader, &record);
        tell(self, &record, &origin);
    }
    clear_origin(&origin);
    door_note(self);
    if (r < 0)
        log_warning("viewer=%s the journal cannot be read: %s", self->name,
                    fault.text);
    /* The end: what comes from here on is told by the session. */
    if (r <= 0)
        stop(self);
}
