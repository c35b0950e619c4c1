/* Appends records to the end of a journal.
 *
 * One call writes a record, or several small ones, at a known offset. A part
 * that a failed call has left is cut off before anything else is written. So a
 * reader never meets half a record with another one after it. */
#include "notebooks/journal/append.h"

#include "base/fd.h"
#include "notebooks/journal/blobs.h"
#include "notebooks/journal/open_segment.h"
#include "notebooks/journal/retention.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Up to here a copy of a record is cheaper than a longer list of pieces. */
#define GATHER_MAX (16u << 10)
/* Bytes of records that one call writes. */
#define GROUP_MAX (64u << 10)

static int check_record(const journal_record_t *record, fault_t *fault)
{
    uint64_t size = (uint64_t) record->origin.size + record->header.size
                    + record->metadata.size + record->content.size;

    assert(record->kind >= JOURNAL_REQUEST && record->kind <= JOURNAL_GAP);
    if (record->buffer_count > RECORD_BUFFERS_MAX)
        return fault_set(fault, EMSGSIZE, "a record of %zu buffers",
                         record->buffer_count);
    for (size_t i = 0; i < record->buffer_count; i++)
        size += record->buffers[i].size;
    if (size + 4 * record->buffer_count > RECORD_BODY_MAX)
        return fault_set(fault, EMSGSIZE, "a record of %llu bytes",
                         (unsigned long long) size);
    return 0;
}

/* Makes room for header, table and references, none of which may move while the
 * pieces point to them; and for the pieces. */
static void prepare(journal_t *self, const journal_record_t *record)
{
    size_t count = RECORD_PARTS + record->buffer_count;

    buffer_clear(&self->gather);
    buffer_reserve(&self->gather, RECORD_HEADER_SIZE + 4 * record->buffer_count
                                      + SEGMENT_REFERENCE_SIZE * count);
    self->gather.size = RECORD_HEADER_SIZE + 4 * record->buffer_count;
    if (self->pieces_max < count + 2) {
        self->pieces =
            mem_resize(self->pieces, (count + 2) * sizeof(*self->pieces));
        self->pieces_max = count + 2;
    }
}

/* Makes one piece of a part, perhaps by way of a blob. */
static int lay_part(journal_t *self, const bytes_t *part, bytes_t *ret_piece,
                    uint32_t *ret_length, uint64_t *blobs, fault_t *fault)
{
    uint64_t added;

    *ret_piece = *part;
    *ret_length = (uint32_t) part->size;
    if (!self->options.spill_min || part->size < self->options.spill_min
        || part->size <= SEGMENT_REFERENCE_SIZE)
        return 0;
    uint8_t *reference = self->gather.data + self->gather.size;
    int result = blob_write(self->folder_fd, part->bytes, part->size, reference,
                            &added, fault);
    if (result < 0)
        return fault_wrap(fault, "%s", self->folder);
    self->gather.size += SEGMENT_REFERENCE_SIZE;
    self->bytes += added;
    *blobs += added;
    ret_piece->bytes = reference;
    ret_piece->size = SEGMENT_REFERENCE_SIZE;
    *ret_length = SEGMENT_REFERENCE_SIZE | 0x80000000u;
    return 0;
}

/* Lays out a record's body as pieces: the table of the buffers' lengths, then
 * the parts. Big ones go to their files. */
static int lay_out(journal_t *self, const journal_record_t *record,
                   uint32_t lengths[RECORD_PARTS], size_t *ret_size,
                   uint64_t *ret_blobs, fault_t *fault)
{
    const bytes_t *parts[] = {&record->origin, &record->header,
                              &record->metadata, &record->content};
    uint8_t *table = self->gather.data + RECORD_HEADER_SIZE;
    size_t size = 4 * record->buffer_count;
    uint32_t length;

    *ret_blobs = 0;
    self->pieces[0] = (bytes_t){table, size};
    for (size_t i = 0; i < RECORD_PARTS + record->buffer_count; i++) {
        const bytes_t *part =
            i < RECORD_PARTS ? parts[i] : &record->buffers[i - RECORD_PARTS];
        bytes_t *piece = &self->pieces[i + 1];
        int result = lay_part(self, part, piece, &length, ret_blobs, fault);
        if (result < 0)
            return result;
        if (i < RECORD_PARTS)
            lengths[i] = length;
        else
            le_put32(table + 4 * (i - RECORD_PARTS), length);
        size += piece->size;
    }
    *ret_size = size;
    return 0;
}

/* Cuts off what a write that failed has left. */
static int clean(journal_t *self, fault_t *fault)
{
    if (!self->is_dirty)
        return 0;
    if (ftruncate(self->fd, (off_t) self->size) < 0)
        return journal_fail(self, errno, "the open segment cannot be cut",
                            fault);
    self->is_dirty = false;
    return 0;
}

/* Writes the pieces at the end of the segment: one call, unless the disk takes
 * less than all. */
static int write_pieces(journal_t *self, struct iovec *pieces, size_t count,
                        fault_t *fault)
{
    off_t at = (off_t) self->size;

    while (count) {
        int batch = count < IOV_MAX ? (int) count : IOV_MAX;
        ssize_t done = pwritev(self->fd, pieces, batch, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return journal_fail(self, errno, "the open segment", fault);
        self->is_dirty = true;
        at += done;
        for (; count && (size_t) done >= pieces->iov_len; pieces++, count--)
            done -= (ssize_t) pieces->iov_len;
        if (count) {
            pieces->iov_base = (uint8_t *) pieces->iov_base + done;
            pieces->iov_len -= (size_t) done;
        }
    }
    return 0;
}

/* Records that are written together, and how the journal ends with them. */
typedef struct {
    size_t count;
    uint8_t chain[SEGMENT_HASH_SIZE];
    uint64_t seq, kernel_seq; /* of the last one */
    uint64_t size, weight;    /* that they add */
    bool is_noted;            /* the head is noted after one of them */
} group_t;

/* Writes a header and a body in pieces: what is too big to be copied. */
static int write_large(journal_t *self, const uint8_t *header, size_t count,
                       fault_t *fault)
{
    cleanup_free struct iovec *list = mem_new((count + 1) * sizeof(*list));

    list[0] = (struct iovec){self->gather.data, RECORD_HEADER_SIZE};
    memcpy(self->gather.data, header, RECORD_HEADER_SIZE);
    for (size_t i = 0; i < count; i++) {
        /* pwritev only reads; its type cannot say so. */
        memcpy(&list[i + 1].iov_base, &self->pieces[i].bytes, sizeof(void *));
        list[i + 1].iov_len = self->pieces[i].size;
    }
    return write_pieces(self, list, count + 1, fault);
}

static void gather(journal_t *self, const uint8_t *header, size_t count,
                   size_t size)
{
    buffer_reserve(&self->group, RECORD_HEADER_SIZE + size);
    buffer_append(&self->group, header, RECORD_HEADER_SIZE);
    for (size_t i = 0; i < count; i++)
        buffer_append(&self->group, self->pieces[i].bytes,
                      self->pieces[i].size);
}

/* Adds a record to the group: copies it, or writes it if it is large and the
 * only one. */
static int add(journal_t *self, group_t *group, journal_record_t *record,
               fault_t *fault)
{
    uint8_t header[RECORD_HEADER_SIZE];
    uint32_t lengths[RECORD_PARTS];
    size_t count = 1 + RECORD_PARTS + record->buffer_count;
    uint64_t blobs;
    size_t size;
    int r;

    prepare(self, record);
    if ((r = check_record(record, fault)) < 0
        || (r = lay_out(self, record, lengths, &size, &blobs, fault)) < 0)
        return r;
    if (group->count == 0 && self->size > SEGMENT_HEADER_SIZE
        && self->weight + RECORD_HEADER_SIZE + size + blobs > self->segment_max
        && (r = journal_rotate(self, fault)) < 0)
        return r;
    if (group->count == 0)
        memcpy(group->chain, self->chain, sizeof(group->chain));
    record->seq = self->last_seq + group->count + 1;
    record_header_encode(record, lengths, size, &self->key, header);
    record_chain(header, self->pieces, count, &self->key, group->chain);
    if (RECORD_HEADER_SIZE + size <= GATHER_MAX)
        gather(self, header, count, size);
    else if ((r = write_large(self, header, count, fault)) < 0)
        return r;
    group->count++;
    group->seq = record->seq;
    if (record->kernel_seq)
        group->kernel_seq = record->kernel_seq;
    group->size += RECORD_HEADER_SIZE + size;
    group->weight += RECORD_HEADER_SIZE + size + blobs;
    if (record->kind == JOURNAL_REPLY || record->kind == JOURNAL_STATE)
        group->is_noted = true;
    return 0;
}

/* Returns the most bytes that a record takes in its segment. */
static uint64_t most_bytes(const journal_record_t *record)
{
    uint64_t size = RECORD_HEADER_SIZE + (uint64_t) record->origin.size
                    + record->header.size + record->metadata.size
                    + record->content.size;

    for (size_t i = 0; i < record->buffer_count; i++)
        size += 4 + record->buffers[i].size;
    return size;
}

/* Returns true if a record can be written by the same call as the group. */
static bool joins(const journal_t *self, const group_t *group,
                  const journal_record_t *record)
{
    uint64_t size = most_bytes(record);

    return self->group.size > 0 && size <= GATHER_MAX
           && self->group.size + size <= GROUP_MAX
           && self->weight + group->weight + size <= self->segment_max;
}

/* Notes that the group is written. */
static void go_on(journal_t *self, const group_t *group)
{
    self->is_dirty = false;
    memcpy(self->chain, group->chain, sizeof(self->chain));
    self->last_seq = group->seq;
    if (group->kernel_seq)
        self->last_kernel_seq = group->kernel_seq;
    self->size += group->size;
    self->weight += group->weight;
    self->bytes += group->size;
    if (group->is_noted)
        journal_note_head(self);
    if (self->options.bytes_max && self->bytes > self->compact_at)
        journal_keep_bound(self);
}

/* Writes as many records as one call does, at least one. */
static int write_group(journal_t *self, journal_record_t *records, size_t count,
                       size_t *ret_written, fault_t *fault)
{
    group_t group = {0};
    int r;

    buffer_clear(&self->group);
    if ((r = journal_wake(self, fault)) < 0 || (r = clean(self, fault)) < 0)
        return r;
    do
        r = add(self, &group, &records[group.count], fault);
    while (r == 0 && group.count < count
           && joins(self, &group, &records[group.count]));
    if (group.count > 0)
        r = 0; /* the one that was not added is the first of the next group */
    if (r == 0 && self->group.size > 0) {
        struct iovec one = {self->group.data, self->group.size};
        r = write_pieces(self, &one, 1, fault);
    }
    if (r < 0) {
        fault_t unimportant; /* the next append tries it again */
        clean(self, &unimportant);
        return r;
    }
    go_on(self, &group);
    *ret_written = group.count;
    return 0;
}

int journal_append_all(journal_t *self, journal_record_t *records, size_t count,
                       size_t *ret_written, fault_t *fault)
{
    size_t most = count; /* records that are written together */
    size_t written;

    for (*ret_written = 0; *ret_written < count; *ret_written += written) {
        size_t left = count - *ret_written;
        int r = write_group(self, records + *ret_written,
                            left < most ? left : most, &written, fault);
        if (r < 0 && most == 1)
            return r;
        if (r < 0) {
            most = 1; /* the disk may have room for some of them */
            written = 0;
        }
    }
    return 0;
}

int journal_append(journal_t *self, journal_record_t *record, fault_t *fault)
{
    size_t written;

    return write_group(self, record, 1, &written, fault);
}
