/* Appends a record to the end of a journal.
 *
 * Each record is written by one call at a known offset. A part that a failed
 * call has left is cut off before anything else is written. So a reader never
 * meets half a record with another one after it. */
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

/* Up to here a copy is cheaper than a longer list of pieces. */
#define GATHER_MAX (16u << 10)

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

/* Writes header and body to the file. Small ones are copied together first. */
static int write_entry(journal_t *self, const uint8_t *header, size_t count,
                       size_t size, fault_t *fault)
{
    if (RECORD_HEADER_SIZE + size <= GATHER_MAX) {
        buffer_clear(&self->entry);
        buffer_reserve(&self->entry, RECORD_HEADER_SIZE + size);
        buffer_append(&self->entry, header, RECORD_HEADER_SIZE);
        for (size_t i = 0; i < count; i++)
            buffer_append(&self->entry, self->pieces[i].bytes,
                          self->pieces[i].size);
        struct iovec one = {self->entry.data, self->entry.size};
        return write_pieces(self, &one, 1, fault);
    }
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

int journal_append(journal_t *self, journal_record_t *record, fault_t *fault)
{
    uint8_t header[RECORD_HEADER_SIZE];
    uint8_t chain[SEGMENT_HASH_SIZE];
    uint32_t lengths[RECORD_PARTS];
    uint64_t blobs;
    size_t size;
    int result;

    if ((result = journal_wake(self, fault)) < 0)
        return result;
    prepare(self, record);
    if ((result = check_record(record, fault)) < 0
        || (result = lay_out(self, record, lengths, &size, &blobs, fault)) < 0
        || (result = clean(self, fault)) < 0)
        return result;
    if (self->size > SEGMENT_HEADER_SIZE
        && self->weight + RECORD_HEADER_SIZE + size + blobs > self->segment_max
        && (result = journal_rotate(self, fault)) < 0)
        return result;

    size_t count = 1 + RECORD_PARTS + record->buffer_count;
    record->seq = self->last_seq + 1;
    record_header_encode(record, lengths, size, &self->key, header);
    memcpy(chain, self->chain, sizeof(chain));
    record_chain(header, self->pieces, count, &self->key, chain);
    result = write_entry(self, header, count, size, fault);
    if (result < 0) {
        fault_t unimportant; /* the next append tries it again */
        clean(self, &unimportant);
        return result;
    }
    self->is_dirty = false;
    memcpy(self->chain, chain, sizeof(chain));
    self->last_seq = record->seq;
    if (record->kernel_seq)
        self->last_kernel_seq = record->kernel_seq;
    self->size += RECORD_HEADER_SIZE + size;
    self->weight += RECORD_HEADER_SIZE + size + blobs;
    self->bytes += RECORD_HEADER_SIZE + size;
    if (record->kind == JOURNAL_REPLY || record->kind == JOURNAL_STATE)
        journal_note_head(self);
    if (self->options.bytes_max && self->bytes > self->compact_at)
        journal_keep_bound(self);
    return 0;
}
