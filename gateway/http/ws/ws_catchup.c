/* A viewer that is behind reads the journal. What the journal does not hold
 * follows from what it does: a request makes busy, its reply makes idle. The
 * parent of an event is its request's header; when that request stands before
 * the cursor it is looked for once. */
#include "gateway/http/ws/websocket.h"

#include "base/log.h"
#include "gateway/http/ws/subscription.h"
#include "notebooks/journal/origin.h"
#include "protocol/json.h"

#include <inttypes.h>
#include <string.h>

#define BATCH 256 /* records in a row, then others have their turn */

static bytes_t part_bytes(journal_part_t part)
{
    return (bytes_t){.bytes = part.bytes, .size = part.size};
}

/* This viewer made it. */
static bool is_own(const viewer_t *self, const origin_t *origin)
{
    return origin->viewer[0] && strcmp(origin->viewer, self->name) == 0;
}

bool viewer_has_idled(const viewer_t *self, uint64_t request)
{
    for (size_t i = 0; i < VIEWER_IDLES; i++)
        if (self->idles[i] == request)
            return true;
    return false;
}

static void find_origin(viewer_t *self, uint64_t number, origin_t *ret)
{
    origin_find(ret, &self->watch->positions, self->watch->journal,
                self->http->journal_key, number, "http");
}

static void queue_event(viewer_t *self, const journal_record_t *record,
                        const origin_t *origin)
{
    cleanup_free bytes_t *buffers =
        mem_new((record->buffer_count + 1) * sizeof *buffers);
    bool is_question = strcmp(record->type, "input_request") == 0;

    if (is_question && !is_own(self, origin))
        return;
    for (size_t i = 0; i < record->buffer_count; i++)
        buffers[i] = part_bytes(record->buffers[i]);
    if (is_question)
        self->question = record->seq;
    const websocket_parts_t parts = {.header = part_bytes(record->header),
                                     .parent = origin_header(origin),
                                     .metadata = part_bytes(record->metadata),
                                     .content = part_bytes(record->content),
                                     .buffers = buffers,
                                     .buffer_count = record->buffer_count};
    viewer_queue(self, record->seq, is_question ? CHANNEL_STDIN : CHANNEL_IOPUB,
                 &parts);
}

static void queue_reply(viewer_t *self, const journal_record_t *record,
                        const origin_t *origin)
{
    const websocket_parts_t parts = {.header = part_bytes(record->header),
                                     .parent = origin_header(origin),
                                     .metadata = part_bytes(record->metadata),
                                     .content = part_bytes(record->content)};

    if (is_own(self, origin))
        self->question = 0;
    if (is_own(self, origin) && record->type[0])
        viewer_queue(self, record->seq, origin->channel, &parts);
    viewer_queue_status(self, "idle", origin_header(origin));
    self->idles[self->idle_at++ % VIEWER_IDLES] = record->request;
}

/* Outputs that were given up: said where they would have stood. */
static void queue_gap(viewer_t *self, const journal_record_t *record,
                      const origin_t *origin)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    json_span_t whole = {0};
    int64_t records = 0;
    fault_t fault;

    if (json_check(record->content.bytes, record->content.size, &whole, &fault)
        == 0)
        (void) json_to_integer(json_member(whole, "records"), &records);
    buffer_format(&content,
                  "{\"name\":\"stderr\",\"text\":\"[hearth: %" PRId64
                  " outputs are no longer kept]\\n\"}",
                  records);
    viewer_queue_made(self, record->seq, CHANNEL_IOPUB, "stream",
                      origin_header(origin),
                      (bytes_t){.bytes = content.data, .size = content.size});
}

static void queue_record(viewer_t *self, const journal_record_t *record,
                         origin_t *origin)
{
    if (record->kind == JOURNAL_REQUEST)
        origin_read(origin, record, "http");
    else if (!record->request)
        origin_clear(origin);
    else if (record->request != origin->number)
        find_origin(self, record->request, origin);

    if (record->kind == JOURNAL_REQUEST)
        viewer_queue_status(self, "busy", origin_header(origin));
    else if (record->kind == JOURNAL_EVENT)
        queue_event(self, record, origin);
    else if (record->kind == JOURNAL_REPLY)
        queue_reply(self, record, origin);
    else if (record->kind == JOURNAL_GAP)
        queue_gap(self, record, origin);
    if (record->seq > self->cursor)
        self->cursor = record->seq;
}

static void stop(viewer_t *self)
{
    self->is_behind = false;
    journal_reader_destroy(&self->reader);
}

static bool open_journal(viewer_t *self)
{
    fault_t fault;

    if (self->reader)
        return true;
    if (!self->watch || !self->watch->journal)
        return false;
    if (positions_open(&self->watch->positions, self->watch->journal,
                       self->http->journal_key, self->cursor, &self->reader,
                       &fault)
        == 0)
        return true;
    log_warning("http: a journal cannot be read: %s", fault.text);
    return false;
}

/* It stands before the cursor: what follows is read from there as ever. */
void viewer_ask_again(viewer_t *self)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    uint64_t seq = self->question, cursor = self->cursor;
    cleanup_origin origin_t origin = ORIGIN_EMPTY;
    journal_record_t record = {0};
    fault_t fault;

    self->question = 0;
    if (seq > cursor
        || positions_open(&self->watch->positions, self->watch->journal,
                          self->http->journal_key, seq - 1, &reader, &fault)
               < 0)
        return;
    while (journal_reader_next(reader, &record, &fault) > 0 && record.seq < seq)
        continue;
    if (record.seq != seq || record.kind != JOURNAL_EVENT)
        return;
    find_origin(self, record.request, &origin);
    queue_event(self, &record, &origin);
}

void viewer_catch_up(viewer_t *self)
{
    cleanup_origin origin_t origin = ORIGIN_EMPTY;
    journal_record_t record;
    fault_t fault;
    int r = 1;

    if (!open_journal(self)) {
        /* Before HELLO there is nothing to read, and nothing is lost. */
        if (!self->watch || self->watch->is_greeted)
            stop(self);
        return;
    }
    for (int i = 0; i < BATCH && !viewer_is_full(self); i++) {
        r = journal_reader_next(self->reader, &record, &fault);
        if (r <= 0)
            break;
        positions_note(&self->watch->positions, self->reader, &record);
        if (record.seq > self->cursor)
            queue_record(self, &record, &origin);
    }
    if (r < 0)
        log_warning("http: a journal cannot be read: %s", fault.text);
    /* The end: what comes from here on is told by the session. */
    if (r <= 0)
        stop(self);
}
