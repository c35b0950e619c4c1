/* See process_transcript.h. */
#include "notebooks/recording/process_transcript.h"

#include "notebooks/journal/reader.h"
#include "notebooks/json/tree.h"

#include <errno.h>
#include <string.h>

void process_transcript_clear(process_transcript_t *self)
{
    buffer_reset(&self->text);
    *self = (process_transcript_t){0};
}

static uint64_t count_of(const json_t *content, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(content, name));

    return value > 0 ? (uint64_t) value : 0;
}

static uint64_t end_of(const process_transcript_t *self)
{
    return self->kept + self->removed;
}

/* Adds a piece of output, and a line in the place of what is missing before
 * it. */
static void add_output(process_transcript_t *self, const json_t *content)
{
    const json_t *text = json_object_get(content, "text");
    uint64_t offset = count_of(content, "offset");

    if (offset > end_of(self)) {
        buffer_format(&self->text,
                      "%s… %llu bytes are no longer in the journal …\n",
                      self->text.size ? "\n" : "",
                      (unsigned long long) (offset - end_of(self)));
        self->removed += offset - end_of(self);
    }
    buffer_append(&self->text, json_string_value(text),
                  json_string_length(text));
    self->kept += count_of(content, "size");
}

static void add_end(process_transcript_t *self, const json_t *content)
{
    uint64_t all =
        count_of(content, "stdout_bytes") + count_of(content, "stderr_bytes");

    self->is_ended = true;
    if (all > end_of(self))
        self->beyond = all - end_of(self);
}

static void note_number(process_transcript_t *self, uint64_t number)
{
    if (number && (!self->lowest || number < self->lowest))
        self->lowest = number;
    if (number > self->highest)
        self->highest = number;
}

static void add_record(process_transcript_t *self, uint64_t number,
                       const journal_record_t *record)
{
    json_auto_t *content = NULL;
    uint64_t of;

    if (record->kind != JOURNAL_STATE
        || strncmp(record->type, "process", 7) != 0)
        return;
    content = json_tree_load(record->content.bytes, record->content.size, NULL);
    of = count_of(content, "process");
    note_number(self, of);
    if (!of || of != number)
        return;
    self->is_found = true;
    if (strcmp(record->type, "process_output") == 0)
        add_output(self, content);
    else if (strcmp(record->type, "process_ended") == 0)
        add_end(self, content);
}

/* How far its records are read. */
typedef struct {
    const process_transcript_place_t *place; /* borrowed */
    journal_reader_t *reader;                /* owned */
    uint64_t reached; /* number of the last record that was read */
    uint64_t moved; /* a segment in which a compaction has moved the records */
} reading_t;

static void reading_clear(reading_t *self)
{
    journal_reader_destroy(&self->reader);
}

/* Reads on to the record with the number `last`, or to the first one after it
 * if that is gone. */
static int read_to(reading_t *self, uint64_t last,
                   process_transcript_t *transcript, fault_t *fault)
{
    journal_record_t record;
    int r = 0;

    while (!transcript->is_ended && self->reached < last
           && (r = journal_reader_next(self->reader, &record, fault)) > 0) {
        if (record.seq <= self->reached)
            continue;
        add_record(transcript, self->place->process, &record);
        self->reached = record.seq;
    }
    return r < 0 ? r : 0;
}

/* Reads a span from its mark. If a compaction has moved that, the segment is
 * read from its beginning, once for all spans in it. */
static int read_span(reading_t *self, const process_transcript_span_t *span,
                     process_transcript_t *transcript, fault_t *fault)
{
    int r;

    if (span->mark.segment == self->moved)
        return read_to(self, span->last, transcript, fault);
    if (self->reached < span->mark.seq)
        self->reached = span->mark.seq;
    r = journal_reader_seek(self->reader, &span->mark, fault);
    if (r == 0)
        r = read_to(self, span->last, transcript, fault);
    if (r == 0 && (transcript->is_ended || self->reached >= span->last))
        return 0;
    self->moved = span->mark.segment;
    r = journal_reader_enter(self->reader, self->moved, self->reached, fault);
    return r < 0 ? r : read_to(self, span->last, transcript, fault);
}

/* Reads its spans, or the whole journal if they are not known. */
static int read_records(const process_transcript_place_t *place,
                        process_transcript_t *transcript, fault_t *fault)
{
    CLEANUP(reading_clear) reading_t self = {.place = place};
    size_t count = place->span_count;
    int r = journal_reader_new(place->folder, place->key,
                               count ? place->spans[0].mark.seq : 0,
                               &self.reader, fault);

    if (r == 0 && count == 0)
        r = read_to(&self, UINT64_MAX, transcript, fault);
    for (size_t i = 0; r == 0 && !transcript->is_ended && i < count; i++)
        r = read_span(&self, &place->spans[i], transcript, fault);
    return r;
}

void process_transcript_write_missing(uint64_t number, uint64_t lowest,
                                      uint64_t highest, buffer_t *out)
{
    buffer_format(out,
                  "the session has no process %llu, or its output is no longer "
                  "kept; ",
                  (unsigned long long) number);
    /* Numbers between them may be missing, too. */
    if (!highest)
        buffer_text(out, "there is none");
    else if (highest == lowest)
        buffer_format(out, "the only one is process:%llu",
                      (unsigned long long) lowest);
    else
        buffer_format(out, "the first is process:%llu, the last process:%llu",
                      (unsigned long long) lowest,
                      (unsigned long long) highest);
}

static int set_missing(const process_transcript_t *self, uint64_t number,
                       fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    process_transcript_write_missing(number, self->lowest, self->highest,
                                     &text);
    return fault_set(fault, ENOENT, "%s", (const char *) text.data);
}

int process_transcript_read(const process_transcript_place_t *place,
                            process_transcript_t *ret_transcript,
                            fault_t *fault)
{
    int r;

    *ret_transcript = (process_transcript_t){0};
    r = read_records(place, ret_transcript, fault);
    if (r == 0 && !ret_transcript->is_found)
        r = set_missing(ret_transcript, place->process, fault);
    if (r < 0)
        process_transcript_clear(ret_transcript);
    return r;
}

void process_transcript_write_gone(const process_transcript_t *self,
                                   buffer_t *out)
{
    bool may_write_more =
        !self->is_ended && end_of(self) >= PROCESS_TRANSCRIPT_MAX;

    if (self->removed)
        buffer_format(out,
                      "%llu bytes were removed for the bound of the journal\n",
                      (unsigned long long) self->removed);
    if (!self->beyond && !may_write_more)
        return;
    buffer_format(out, "these are the first %llu bytes that it wrote; ",
                  (unsigned long long) end_of(self));
    if (self->beyond)
        buffer_format(out, "%llu more are", (unsigned long long) self->beyond);
    else
        buffer_text(out, "later ones are");
    buffer_text(out, " not in the journal; its recent output has the last 64 "
                     "KiB (HTTP: processes/N/output; MCP: session with action "
                     "output)\n");
}
