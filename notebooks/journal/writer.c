/* The writer of a session's journal: opens it and recovers its end. It is owned
 * by the session and lives in its thread. open_segment.c goes from segment to
 * segment, append.c writes records, retention.c bounds how much is kept;
 * reader.c reads, and segment.c says what the bytes mean. */
#include "notebooks/journal/writer.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "notebooks/journal/append.h"
#include "notebooks/journal/blobs.h"
#include "notebooks/journal/head.h"
#include "notebooks/journal/open_segment.h"
#include "protocol/jspan_write.h"

#include <sodium.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The bound is kept by giving up a segment at a time, so a segment is a small
 * share of it. A segment's upper bound keeps a compaction below some 50 ms. */
#define SEGMENT_SHARE 16
#define SEGMENT_MIN   (4u << 10)
#define SEGMENT_MAX   (16u << 20)

void journal_destroy(journal_t **self_p)
{
    journal_t *self = *self_p;

    if (!self)
        return;
    journal_close_files(self);
    buffer_reset(&self->gather);
    buffer_reset(&self->group);
    free(self->pieces);
    free(self->closed);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

static int by_number(const void *left, const void *right)
{
    const closed_t *a = left;
    const closed_t *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

/* Fills the list with every segment that is there, the last one too. */
static int find_segments(journal_t *self, fault_t *fault)
{
    struct stat there;
    closed_t found = {0};

    cleanup_dir DIR *folder = opendir(self->folder);
    if (!folder)
        return fault_set(fault, errno, "%s: %s", self->folder, strerror(errno));
    for (struct dirent *file = readdir(folder); file; file = readdir(folder)) {
        if (!segment_number(file->d_name, &found.number))
            continue;
        if (fstatat(self->folder_fd, file->d_name, &there, AT_SYMLINK_NOFOLLOW)
            < 0)
            return journal_fail(self, errno, file->d_name, fault);
        found.size = (uint64_t) there.st_size;
        self->closed =
            mem_resize(self->closed, (self->closed_count + 1) * sizeof(found));
        self->closed[self->closed_count++] = found;
        self->bytes += found.size;
    }
    if (self->closed_count)
        qsort(self->closed, self->closed_count, sizeof(found), by_number);
    for (size_t i = 0; i < self->closed_count; i++)
        if (self->closed[i].number != i + 1)
            return fault_set(fault, EBADMSG, "%s: segment %zu is missing",
                             self->folder, i + 1);
    return 0;
}

/* Reads what a compaction needs to know of a closed segment. Damage is the
 * readers' to report: an old segment must not keep a session from going on. */
static void learn_stage(journal_t *self, closed_t *closed)
{
    uint8_t bytes[SEGMENT_HEADER_SIZE];
    char name[SEGMENT_NAME_SIZE];
    segment_header_t header;

    segment_name(closed->number, name);
    cleanup_fd int fd =
        openat(self->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || pread(fd, bytes, sizeof(bytes), 0) != sizeof(bytes)
        || segment_header_decode(bytes, &self->key, &header) < 0)
        closed->is_damaged = true;
    else
        closed->stage = header.stage;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Follows the records of the last segment to its end. *ret_size is how far it
 * is good. A file that ends in zeros is what a machine leaves that lost its
 * power between the growth of the file and its content. */
static int follow(journal_t *self, const buffer_t *bytes,
                  const segment_header_t *header, uint64_t *ret_size,
                  fault_t *fault)
{
    size_t at = SEGMENT_HEADER_SIZE;
    size_t needed;
    stored_record_t entry;
    int result = 1;

    segment_chain_start(header, &self->key, self->chain);
    self->last_seq = header->first_seq - 1;
    self->last_kernel_seq = header->kernel_seq;
    while (at < bytes->size) {
        result = record_parse(bytes->data + at, bytes->size - at, &self->key,
                              self->chain, &entry, &needed);
        if (result != 1)
            break;
        self->last_seq = entry.record.seq;
        if (entry.record.kernel_seq)
            self->last_kernel_seq = entry.record.kernel_seq;
        self->weight += record_spilled(&entry);
        at += entry.size;
    }
    self->weight += at;
    if (result < 0 && !is_zero(bytes->data + at, bytes->size - at))
        return fault_set(
            fault, EBADMSG,
            "%s: segment %llu is damaged at byte %zu, after record %llu",
            self->folder, (unsigned long long) header->number, at,
            (unsigned long long) self->last_seq);
    *ret_size = at;
    return 0;
}

/* Takes the last segment off the list and opens it. 1: done; 0: it did not
 * even have its header and is gone. */
static int open_last(journal_t *self, uint64_t *torn, fault_t *fault)
{
    closed_t *last = &self->closed[self->closed_count - 1];
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    char name[SEGMENT_NAME_SIZE];
    segment_header_t header;

    segment_name(last->number, name);
    int result = segment_load(self->folder_fd, last->number, &bytes, fault);
    if (result < 0)
        return fault_wrap(fault, "%s", self->folder);
    if (bytes.size < SEGMENT_HEADER_SIZE) {
        if (unlinkat(self->folder_fd, name, 0) < 0)
            return journal_fail(self, errno, name, fault);
        *torn += bytes.size;
        self->bytes -= bytes.size;
        self->closed_count--;
        return 0;
    }
    if (segment_header_decode(bytes.data, &self->key, &header) < 0
        || header.number != last->number)
        return fault_set(fault, EBADMSG,
                         "%s/%s: its header is damaged, or was sealed "
                         "with another journal key than this one",
                         self->folder, name);
    result = follow(self, &bytes, &header, &self->size, fault);
    if (result < 0)
        return result;
    if (header.stage != SEGMENT_WHOLE) {
        last->stage = header.stage;
        result = journal_begin_segment(self, last->number + 1, header.original,
                                       fault);
        return result < 0 ? result : 1;
    }
    self->fd = openat(self->folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (self->fd < 0 || ftruncate(self->fd, (off_t) self->size) < 0)
        return journal_fail(self, errno, name, fault);
    *torn += bytes.size - self->size;
    self->bytes -= bytes.size - self->size;
    self->number = last->number;
    self->closed_count--;
    return 1;
}

static uint64_t segment_size(uint64_t bytes_max)
{
    uint64_t size = bytes_max / SEGMENT_SHARE;

    if (!bytes_max || size > SEGMENT_MAX)
        return SEGMENT_MAX;
    return size < SEGMENT_MIN ? SEGMENT_MIN : size;
}

/* Writes one record in the place of records that are numbered but missing.
 * Their numbers are not used again, because clients may have seen them. */
static int note_loss(journal_t *self, fault_t *fault)
{
    journal_head_t head = {0};
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    journal_record_t record = {
        .kind = JOURNAL_STATE, .wall_us = clock_wall_us(), .type = "cut"};

    int result = journal_head_load(self->folder_fd, &self->key, &head);
    self->head_fd = journal_head_open(self->folder_fd);
    if (self->head_fd < 0)
        return journal_fail(self, errno, "head", fault);
    if (result != 1 || head.seq <= self->last_seq)
        return 0;
    jspan_write_begin(&content);
    jspan_write_count(&content, "from", self->last_seq + 1);
    jspan_write_count(&content, "to", head.seq);
    jspan_write_end(&content);
    record.content = buffer_bytes(&content);
    self->last_seq = head.seq;
    return journal_append(self, &record, fault);
}

int journal_open(const char *folder, const uint8_t *key,
                 const journal_options_t *options, journal_t **ret_journal,
                 uint64_t *ret_torn, fault_t *fault)
{
    static const uint8_t nothing[SEGMENT_HASH_SIZE];
    cleanup_journal journal_t *self = mem_new(sizeof(*self));
    uint64_t torn = 0;
    int result;

    self->folder_fd = -1;
    self->fd = -1;
    self->head_fd = -1;
    self->folder = mem_text(folder);
    if (options)
        self->options = *options;
    self->segment_max = segment_size(self->options.bytes_max);
    self->compact_at = self->options.bytes_max;
    if (sodium_init() < 0)
        return fault_set(fault, EIO, "libsodium cannot be used");
    segment_key_set(&self->key, key);
    if ((result = path_make_folders(self->folder, 0700, fault)) < 0
        || (result = journal_open_folder(self, fault)) < 0
        || (result = find_segments(self, fault)) < 0)
        return result;
    self->bytes += blobs_bytes(self->folder_fd);
    for (result = 0; result == 0 && self->closed_count;)
        result = open_last(self, &torn, fault);
    if (result == 0)
        result = journal_begin_segment(self, 1, nothing, fault);
    if (result < 0)
        return result;
    for (size_t i = 0; i < self->closed_count; i++)
        learn_stage(self, &self->closed[i]);
    if ((result = note_loss(self, fault)) < 0)
        return result;
    *ret_journal = take_ptr(self);
    if (ret_torn)
        *ret_torn = torn;
    return 0;
}

uint64_t journal_last_seq(const journal_t *self)
{
    return self->last_seq;
}

uint64_t journal_last_kernel_seq(const journal_t *self)
{
    return self->last_kernel_seq;
}

uint64_t journal_compactions(const journal_t *self)
{
    return self->compactions;
}

uint64_t journal_bytes(const journal_t *self)
{
    return self->bytes;
}
