/* Compaction of a segment. Outputs go, and one gap in the place of each run of
 * them says how many records and bytes it stands for; requests, replies and
 * states stay. A run belongs to one request, so that a notebook can say in
 * which cell something is missing. Where the gap would be bigger than what it
 * replaces, nothing is replaced. In the second stage requests and replies go
 * too: without it a session that only asks would grow for ever. States are few
 * and always stay: who comes back needs them.
 *
 * The rewritten segment has a chain of its own. Its header keeps the hash at
 * which the whole one ended, and so the next segment's link to it stays good.
 */
#include "notebooks/journal/compaction.h"

#include "notebooks/journal/blobs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a gap stands for. */
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
    uint8_t header[ENTRY_HEADER_SIZE];
    journal_part_t body = {bytes + ENTRY_HEADER_SIZE, size - ENTRY_HEADER_SIZE};

    memcpy(header, bytes, sizeof(header));
    entry_chain(header, &body, 1, self->key, self->chain);
    buffer_append(self->out, header, sizeof(header));
    buffer_append(self->out, body.bytes, body.size);
}

static void write_gap(compaction_t *self, const char *content)
{
    uint8_t header[ENTRY_HEADER_SIZE];
    uint32_t lengths[ENTRY_PARTS] = {0, 0, 0, (uint32_t) strlen(content)};
    journal_part_t body = {content, strlen(content)};
    journal_record_t record = {
        .kind = JOURNAL_GAP,
        .seq = self->gap.seq,
        .wall_us = self->gap.wall_us,
        .request = self->gap.request,
        .kernel_seq = self->gap.kernel_seq,
        .type = "gap",
    };

    entry_header_encode(&record, lengths, body.size, self->key, header);
    entry_chain(header, &body, 1, self->key, self->chain);
    buffer_append(self->out, header, sizeof(header));
    buffer_append(self->out, body.bytes, body.size);
}

static void finish_gap(compaction_t *self)
{
    char content[96];
    gap_t *gap = &self->gap;

    if (!gap->records)
        return;
    int size = snprintf(
        content, sizeof(content), "{\"records\":%llu,\"bytes\":%llu}",
        (unsigned long long) gap->records, (unsigned long long) gap->bytes);
    if (self->stage == SEGMENT_COMPACTED && gap->records == 1
        && gap->bytes == gap->stored
        && gap->stored <= ENTRY_HEADER_SIZE + (size_t) size)
        keep_entry(self, gap->from, gap->stored);
    else
        write_gap(self, content);
    *gap = (gap_t){0};
}

/* What the gap of an earlier compaction stood for. */
static void add_older_gap(gap_t *gap, const entry_t *entry)
{
    unsigned long long records = 0;
    unsigned long long bytes = 0;
    char content[96] = "";
    size_t size = entry->size - ENTRY_HEADER_SIZE;

    memcpy(content, entry->body,
           size < sizeof(content) ? size : sizeof(content) - 1);
    if (sscanf(content, "{\"records\":%llu,\"bytes\":%llu}", &records, &bytes)
        == 2) {
        gap->records += records;
        gap->bytes += bytes;
    }
}

static void add_to_gap(compaction_t *self, const uint8_t *bytes,
                       const entry_t *entry)
{
    gap_t *gap = &self->gap;

    if (!gap->from)
        gap->from = bytes;
    if (entry->record.kind == JOURNAL_GAP) {
        add_older_gap(gap, entry);
    } else {
        gap->records++;
        gap->bytes += entry->size + entry_spilled(entry);
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

/* All that a session's end or a gateway's start needs. An answer is worth
 * nothing without its request; transfers of files come without number. */
static bool is_lasting(const journal_record_t *record)
{
    return record->kind == JOURNAL_STATE
           && strcmp(record->type, "input_reply") != 0
           && strcmp(record->type, "file") != 0;
}

static void take_entry(compaction_t *self, const uint8_t *bytes,
                       const entry_t *entry)
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

/* Calls `take` for each entry; leaves the chain's end in `chain`. */
static int walk(const buffer_t *segment, const segment_key_t *key,
                segment_header_t *ret_header, uint8_t chain[SEGMENT_HASH_SIZE],
                void (*take)(void *arg, const uint8_t *bytes,
                             const entry_t *entry),
                void *arg, fault_t *fault)
{
    size_t at = SEGMENT_HEADER_SIZE;
    size_t needed;
    entry_t entry;

    if (segment->size < SEGMENT_HEADER_SIZE
        || segment_header_decode(segment->data, key, ret_header) < 0)
        return fault_set(fault, EBADMSG, "the header is damaged");
    segment_chain_start(ret_header, key, chain);
    while (at < segment->size) {
        if (entry_parse(segment->data + at, segment->size - at, key, chain,
                        &entry, &needed)
            != 1)
            return fault_set(fault, EBADMSG, "damaged at byte %zu", at);
        take(arg, segment->data + at, &entry);
        at += entry.size;
    }
    return 0;
}

static void on_entry(void *arg, const uint8_t *bytes, const entry_t *entry)
{
    take_entry(arg, bytes, entry);
}

int compaction_run(const buffer_t *segment, segment_stage_t stage,
                   const segment_key_t *key, buffer_t *out, fault_t *fault)
{
    compaction_t self = {.key = key, .out = out, .stage = stage};
    size_t start = out->size;
    uint8_t end[SEGMENT_HASH_SIZE];
    segment_header_t header;

    if (segment->size < SEGMENT_HEADER_SIZE
        || segment_header_decode(segment->data, key, &header) < 0)
        return fault_set(fault, EBADMSG, "the header is damaged");
    segment_chain_start(&header, key, self.chain);
    memset(buffer_reserve(out, SEGMENT_HEADER_SIZE), 0, SEGMENT_HEADER_SIZE);
    out->size += SEGMENT_HEADER_SIZE;
    int result = walk(segment, key, &header, end, on_entry, &self, fault);
    if (result < 0)
        return result;
    finish_gap(&self);
    if (header.stage == SEGMENT_WHOLE)
        memcpy(header.original, end, sizeof(end));
    else if (memcmp(header.end, end, sizeof(end)) != 0)
        return fault_set(fault, EBADMSG, "the end is missing");
    header.stage = stage;
    header.size = out->size - start;
    memcpy(header.end, self.chain, sizeof(header.end));
    segment_header_encode(&header, key, out->data + start);
    return 0;
}

static void on_entry_blobs(void *arg, const uint8_t *bytes,
                           const entry_t *entry)
{
    buffer_t *hashes = arg;
    size_t cursor = 0;
    size_t offset = 0;
    entry_part_t part;

    (void) bytes;
    while (entry_each(entry, &cursor, &offset, &part))
        if (part.is_spilled)
            buffer_append(hashes, part.bytes + 8, BLOB_HASH_SIZE);
}

int compaction_list_blobs(const buffer_t *segment, const segment_key_t *key,
                          buffer_t *hashes, fault_t *fault)
{
    uint8_t end[SEGMENT_HASH_SIZE];
    segment_header_t header;

    return walk(segment, key, &header, end, on_entry_blobs, hashes, fault);
}
