/* A viewer that is behind reads the journal. What the journal does not hold
 * follows from what it does: a request makes busy, its reply makes idle. The
 * parent of an event is its request's header; when that request stands before
 * the cursor it is looked for once. */
#include "gateway/http/channels.h"

#include "base/log.h"
#include "gateway/http/watch.h"
#include "protocol/json.h"

#include <inttypes.h>
#include <string.h>

#define BATCH 256 /* records in a row, then others have their turn */

/* A request as its records know it. */
typedef struct {
    uint64_t number;
    buffer_t header; /* owned */
    channel_t channel;
    bool is_own; /* this viewer made it */
} origin_t;

static void clear_origin(origin_t *self)
{
    buffer_reset(&self->header);
}

static bytes_t part_bytes(journal_part_t part)
{
    return (bytes_t){.bytes = part.bytes, .size = part.size};
}

static bytes_t header_of(const origin_t *origin)
{
    return (bytes_t){.bytes = origin->header.data, .size = origin->header.size};
}

/* {"channel","front","identities":[hex]}: whether this viewer stands there. */
static bool names_viewer(const viewer_t *viewer, json_span_t origin)
{
    json_span_t identities = json_member(origin, "identities"), hex;
    cleanup_buffer buffer_t own = BUFFER_EMPTY;
    size_t cursor = 0;

    if (!json_text_equals(json_member(origin, "front"), "http")
        || !json_each(identities, &cursor, NULL, &hex))
        return false;
    for (const char *at = viewer->name; *at; at++)
        buffer_format(&own, "%02x", (unsigned char) *at);
    return own.size && json_text_equals(hex, (const char *) own.data);
}

static void read_origin(const viewer_t *viewer, const journal_record_t *record,
                        origin_t *ret)
{
    json_span_t origin = {0};
    fault_t fault;

    clear_origin(ret);
    ret->number = record->request;
    ret->channel = CHANNEL_SHELL;
    ret->is_own = false;
    buffer_append(&ret->header, record->header.bytes, record->header.size);
    if (json_check(record->origin.bytes, record->origin.size, &origin, &fault)
        < 0)
        return;
    cleanup_free char *channel = json_text_new(json_member(origin, "channel"));
    if (channel)
        ret->channel = websocket_channel(channel, strlen(channel));
    if (ret->channel >= CHANNEL_COUNT)
        ret->channel = CHANNEL_SHELL;
    ret->is_own = names_viewer(viewer, origin);
}

/* A request that stands before the cursor. */
static void search_origin(const viewer_t *viewer, uint64_t number,
                          origin_t *ret)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;

    clear_origin(ret);
    *ret = (origin_t){.number = number, .channel = CHANNEL_SHELL};
    if (positions_find_request(
            &viewer->watch->positions, viewer->watch->journal,
            viewer->http->journal_key, number, &reader, &record))
        read_origin(viewer, &record, ret);
}

bool viewer_has_idled(const viewer_t *self, uint64_t request)
{
    for (size_t i = 0; i < VIEWER_IDLES; i++)
        if (self->idles[i] == request)
            return true;
    return false;
}

static void queue_event(viewer_t *self, const journal_record_t *record,
                        const origin_t *origin)
{
    cleanup_free bytes_t *buffers =
        mem_new((record->buffer_count + 1) * sizeof *buffers);
    bool is_question = strcmp(record->type, "input_request") == 0;

    if (is_question && !origin->is_own)
        return;
    for (size_t i = 0; i < record->buffer_count; i++)
        buffers[i] = part_bytes(record->buffers[i]);
    if (is_question)
        self->question = record->seq;
    const websocket_parts_t parts = {.header = part_bytes(record->header),
                                     .parent = header_of(origin),
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
                                     .parent = header_of(origin),
                                     .metadata = part_bytes(record->metadata),
                                     .content = part_bytes(record->content)};

    if (origin->is_own)
        self->question = 0;
    if (origin->is_own && record->type[0])
        viewer_queue(self, record->seq, origin->channel, &parts);
    viewer_queue_status(self, "idle", header_of(origin));
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
                      header_of(origin),
                      (bytes_t){.bytes = content.data, .size = content.size});
}

static void queue_record(viewer_t *self, const journal_record_t *record,
                         origin_t *origin)
{
    if (record->kind == JOURNAL_REQUEST)
        read_origin(self, record, origin);
    else if (record->request && record->request != origin->number)
        search_origin(self, record->request, origin);
    else if (!record->request)
        clear_origin(origin), *origin = (origin_t){0};

    if (record->kind == JOURNAL_REQUEST)
        viewer_queue_status(self, "busy", header_of(origin));
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
    origin_t origin = {0};
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
    search_origin(self, record.request, &origin);
    queue_event(self, &record, &origin);
    clear_origin(&origin);
}

void viewer_catch_up(viewer_t *self)
{
    origin_t origin = {0};
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
    clear_origin(&origin);
    if (r < 0)
        log_warning("http: a journal cannot be read: %s", fault.text);
    /* The end: what comes from here on is told by the session. */
    if (r <= 0)
        stop(self);
}
