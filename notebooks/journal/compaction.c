/* Compaction of a segment. The first stage removes outputs. One gap replaces
 * each run of them and says how many records and bytes are missing; requests,
 * replies and states stay. A run belongs to one request, so that a notebook can
 * say in which cell something is missing. Outputs stay where the gap would be
 * bigger than they are.
 *
 * The second stage also removes requests and replies: without it a session that
 * only asks would grow for ever. The states that last (states.h) always stay.
 *
 * The rewritten segment has a chain of its own. Its header keeps the hash at
 * which the whole segment ended, so the next segment's link to it stays valid.
 */
#include "notebooks/journal/compaction.h"

#include "notebooks/journal/blobs.h"
#include "notebooks/journal/states.h"
#include "protocol/jspan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The records that a gap replaces. */
typedef struct {
    uint64_t records;    /* that went */
    uint64_t bytes;      /* of them on disk, blobs included */
    uint64_t seq;        /* of the last one */
    uint64_t kernel_seq; /* the latest of them */
    uint64_t request;    /* theirs, or 0 */
    int64_t wall_us;     /* of the last one */
    size_t stored;       /* bytes of them in the segment */
    const uint8_t *from; /* the first one, borrowed from the segment */
} gap_t;

/* One compaction under way. */
typedef struct {
    const segment_key_t *key;         /* borrowed */
    buffer_t *out;                    /* borrowed */
    uint8_t chain[SEGMENT_HASH_SIZE]; /* of the new segment */
    segment_stage_t stage;            /* that is made */
    gap_t gap;                        /* not yet written */
} compaction_t;

/* Moves an entry over as it is; only its place in the chain is new. */
static void keep_entry(compaction_t *self, const uint8_t *bytes, size_t size)
{
    uint8_t header[RECORD_HEADER_SIZE];
    bytes_t body = {bytes + RECORD_HEADER_SIZE, size - RECORD_HEADER_SIZE};

    memcpy(header, bytes, sizeof(header));
    record_chain(header, &body, 1, self->key, self->chain);
    buffer_append(self->out, header, sizeof(header));
    buffer_append(self->out, body.bytes, body.size);
}

static void write_gap(compaction_t *self, bytes_t body)
{
    uint8_t header[RECORD_HEADER_SIZE];
    uint32_t lengths[RECORD_PARTS] = {0, 0, 0, (uint32_t) body.size};
    journal_record_t record = {
        .kind = JOURNAL_GAP,
        .seq = self->gap.seq,
        .wall_us = self->gap.wall_us,
        .request = self->gap.request,
        .kernel_seq = self->gap.kernel_seq,
        .type = "gap",
    };

    record_header_encode(&record, lengths, body.size, self->key, header);
    record_chain(header, &body, 1, self->key, self->chain);
    buffer_append(self->out, header, sizeof(header));
    buffer_append(self->out, body.bytes, body.size);
}

static void finish_gap(compaction_t *self)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    gap_t *gap = &self->gap;

    if (!gap->records)
        return;
    jspan_write_begin(&content);
    jspan_write_count(&content, "records", gap->records);
    jspan_write_count(&content, "bytes", gap->bytes);
    jspan_write_end(&content);
    if (self->stage == SEGMENT_COMPACTED && gap->records == 1
        && gap->bytes == gap->stored
        && gap->stored <= RECORD_HEADER_SIZE + content.size)
        keep_entry(self, gap->from, gap->stored);
    else
        write_gap(self, buffer_bytes(&content));
    *gap = (gap_t){0};
}

/* Adds what the gap of an earlier compaction stood for. */
static void add_older_gap(gap_t *gap, const stored_record_t *entry)
{
    size_t size = entry->size - RECORD_HEADER_SIZE;
    int64_t records, bytes;
    jspan_t content;
    fault_t fault;

    if (jspan_check(entry->body, size, &content, &fault) < 0
        || !jspan_to_integer(jspan_member(content, "records"), &records)
        || !jspan_to_integer(jspan_member(content, "bytes"), &bytes))
        return;
    gap->records += (uint64_t) records;
    gap->bytes += (uint64_t) bytes;
}

static void add_to_gap(compaction_t *self, const uint8_t *bytes,
                       const stored_record_t *entry)
{
    gap_t *gap = &self->gap;

    if (!gap->from)
        gap->from = bytes;
    if (entry->record.kind == JOURNAL_GAP) {
        add_older_gap(gap, entry);
    } else {
        gap->records++;
        gap->bytes += entry->size + record_spilled(entry);
    }
    gap->stored += entry->size;
    gap->seq = entry->record.seq;
    gap->wall_us = entry->record.wall_us;
    if (entry->record.kernel_seq)
        gap->kernel_seq = entry->record.kernel_seq;
    if (self->stage == SEGMENT_COMPACTED)
        gap->request = entry->record.request;
}

/* Events that frame a request say what ran when, and what it asked; they are
 * small and stay. */
static bool carries_output(const journal_record_t *record)
{
    return record->kind == JOURNAL_EVENT && strcmp(record->type, "status") != 0
           && strcmp(record->type, "execute_input") != 0
           && strcmp(record->type, "input_request") != 0;
}

/* Returns true for a record that a session's end or a gateway's start needs. */
static bool is_lasting(const journal_record_t *record)
{
    return record->kind == JOURNAL_STATE && journal_state_lasts(record->type);
}

static void take_entry(compaction_t *self, const uint8_t *bytes,
                       const stored_record_t *entry)
{
    bool goes = self->stage == SEGMENT_EMPTIED ? !is_lasting(&entry->record)
                                               : carries_output(&entry->record);

    if (!goes) {
        finish_gap(self);
        keep_entry(self, bytes, entry->size);
        return;
    }
    if (self->stage == SEGMENT_COMPACTED && self->gap.from
        && self->gap.request != entry->record.request)
        finish_gap(self);
    add_to_gap(self, bytes, entry);
}

typedef struct {
    segment_header_t header;
    uint8_t chain[SEGMENT_HASH_SIZE]; /* of the last entry */
} walked_t;

typedef void take_fn(void *arg, const uint8_t *bytes,
                     const stored_record_t *entry);

/* Calls `take` for each entry. */
static int walk(const buffer_t *segment, const segment_key_t *key,
                take_fn *take, void *arg, walked_t *ret_walked, fault_t *fault)
{
    size_t at = SEGMENT_HEADER_SIZE;
    size_t needed;
    stored_record_t entry;

    if (segment->size < SEGMENT_HEADER_SIZE
        || segment_header_decode(segment->data, key, &ret_walked->header) < 0)
        return fault_set(fault, EBADMSG, "the header is damaged");
    segment_chain_start(&ret_walked->header, key, ret_walked->chain);
    while (at < segment->size) {
        if (record_parse(segment->data + at, segment->size - at, key,
                         ret_walked->chain, &entry, &needed)
            != 1)
            return fault_set(fault, EBADMSG, "damaged at byte %zu", at);
        take(arg, segment->data + at, &entry);
        at += entry.size;
    }
    return 0;
}

static void on_entry(void *arg, const uint8_t *bytes,
                     const stored_record_t *entry)
{
    take_entry(arg, bytes, entry);
}

int compaction_run(const buffer_t *segment, segment_stage_t stage,
                   const segment_key_t *key, buffer_t *out, fault_t *fault)
{
    compaction_t self = {.key = key, .out = out, .stage = stage};
    size_t start = out->size;
    segment_header_t header;
    walked_t walked;

    if (segment->size < SEGMENT_HEADER_SIZE
        || segment_header_decode(segment->data, key, &header) < 0)
        return fault_set(fault, EBADMSG, "the header is damaged");
    segment_chain_start(&header, key, self.chain);
    memset(buffer_reserve(out, SEGMENT_HEADER_SIZE), 0, SEGMENT_HEADER_SIZE);
    out->size += SEGMENT_HEADER_SIZE;
    int result = walk(segment, key, on_entry, &self, &walked, fault);
    if (result < 0)
        return result;
    finish_gap(&self);
    if (header.stage == SEGMENT_WHOLE)
        memcpy(header.original, walked.chain, sizeof walked.chain);
    else if (memcmp(header.end, walked.chain, sizeof walked.chain) != 0)
        return fault_set(fault, EBADMSG, "the end is missing");
    header.stage = stage;
    header.size = out->size - start;
    memcpy(header.end, self.chain, sizeof(header.end));
    segment_header_encode(&header, key, out->data + start);
    return 0;
}

static void on_entry_blobs(void *arg, const uint8_t *bytes,
                           const stored_record_t *entry)
{
    buffer_t *hashes = arg;
    size_t cursor = 0;
    size_t offset = 0;
    bytes_t part;
    bool is_spilled;

    (void) bytes;
    while (record_each(entry, &cursor, &offset, &part, &is_spilled))
        if (is_spilled)
            buffer_append(hashes, (const uint8_t *) part.bytes + 8,
                          BLOB_HASH_SIZE);
}

int compaction_list_blobs(const buffer_t *segment, const segment_key_t *key,
                          buffer_t *hashes, fault_t *fault)
{
    walked_t walked;

    return walk(segment, key, on_entry_blobs, hashes, &walked, fault);
}
