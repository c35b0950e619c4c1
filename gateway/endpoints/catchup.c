/* What a viewer has missed is read from his session's journal: while he took
 * nothing, and while there was no gateway. What the journal does not hold
 * follows from what it does: a request makes busy, its reply makes idle. */
#include "gateway/endpoints/internal.h"

#include "base/log.h"
#include "notebooks/journal/origin.h"

#include <inttypes.h>
#include <string.h>

#define BATCH 256 /* records in a row, then others have their turn */

static bytes_t part_bytes(journal_part_t part)
{
    return (bytes_t){part.bytes, part.size};
}

/* Of other doors' viewers no more than of other fronts'. */
static void hide_others(const door_t *self, origin_t *origin)
{
    if (!door_owns(self, (bytes_t){origin->viewer, strlen(origin->viewer)}))
        origin->viewer[0] = '\0';
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
                                .parent = origin_header(origin),
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
                                .parent = origin_header(origin),
                                .metadata = part_bytes(record->metadata),
                                .content = part_bytes(record->content)};

    if (origin->viewer[0] && record->type[0])
        door_send(self, origin->channel,
                  (bytes_t){origin->viewer, strlen(origin->viewer)}, &parts);
    door_status(self, "idle", origin_header(origin));
    self->idled[self->idled_at++ % DOOR_IDLED] = record->request;
}

/* Outputs that were given up: said where they would have stood. */
static void tell_gap(door_t *self, const origin_t *origin)
{
    static const char content[] =
        "{\"name\":\"stderr\",\"text\":\"[hearth: outputs that were missed "
        "are no longer kept]\\n\"}";

    door_publish_made(self, "stream", origin_header(origin),
                      (bytes_t){content, sizeof content - 1});
}

/* A reply that went out last may have gone with the gateway that sent it. */
static void tell(door_t *self, const journal_record_t *record, origin_t *origin)
{
    if (record->seq < self->cursor
        || (record->seq == self->cursor && record->kind != JOURNAL_REPLY))
        return;
    if (record->kind == JOURNAL_REQUEST)
        origin_read(origin, record, DOORS_FRONT);
    else if (!record->request)
        origin_clear(origin);
    else if (record->request != origin->number)
        origin_find(origin, &self->aim->positions, self->aim->journal,
                    self->keeper->journal_key, record->request, DOORS_FRONT);
    hide_others(self, origin);
    if (record->kind == JOURNAL_REQUEST)
        door_status(self, "busy", origin_header(origin));
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
    cleanup_origin origin_t origin = ORIGIN_EMPTY;
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
    door_note(self);
    if (r < 0)
        log_warning("viewer=%s the journal cannot be read: %s", self->name,
                    fault.text);
    /* The end: what comes from here on is told by the session. */
    if (r <= 0)
        stop(self);
}
