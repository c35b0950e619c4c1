/* The writer of a session's journal: appends, recovers, keeps the bound. It is
 * owned by the session and lives in its thread. Reading is journal_reader.c's
 * work; what the bytes mean is segment.c's.
 *
 * A record is written by one call at a known offset. What a call that failed
 * has left behind is cut off before anything else is written, so that a reader
 * never meets half a record with another one behind it. */
#include "notebooks/journal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "notebooks/blobs.h"
#include "notebooks/compaction.h"
#include "notebooks/journal_head.h"
#include "notebooks/segment.h"

#include <sodium.h>

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* A bound is kept by giving up a segment at a time, so a segment is a small
 * share of it; the upper end keeps a compaction below some 50 ms. */
#define SEGMENT_SHARE 16
#define SEGMENT_MIN   (4u << 10)
#define SEGMENT_MAX   (16u << 20)
#define UNFINISHED    "unfinished"
/* Up to here a copy is cheaper than a longer list of pieces. */
#define GATHER_MAX (16u << 10)

/* A closed segment; the open one is not in the list. */
typedef struct {
    uint64_t number;
    uint64_t size;         /* of its file */
    segment_stage_t stage; /* what is left of it */
    bool is_damaged;       /* found so by a compaction: left as it is */
} closed_t;

struct journal {
    char *folder;                     /* owned: its path, for faults */
    int folder_fd;                    /* owned; locked; -1: it rests */
    int fd;                           /* owned: the open segment, or -1 */
    int head_fd;                      /* owned: its note of the end, or -1 */
    segment_key_t key;                /* of the chain */
    journal_options_t options;        /* as given */
    uint64_t segment_max;             /* bytes; then the next one begins */
    closed_t *closed;                 /* owned: oldest first */
    size_t closed_count;              /* of them */
    uint64_t number;                  /* of the open segment */
    uint64_t size;                    /* of its file, as far as it is good */
    uint64_t weight;                  /* its size and its blobs */
    uint8_t chain[SEGMENT_HASH_SIZE]; /* the last record's hash */
    uint64_t last_seq;                /* of the last record */
    uint64_t last_kernel_seq;         /* the latest one */
    uint64_t bytes;                   /* on disk, all files */
    uint64_t compact_at;              /* bytes; from here on it is tried */
    bool is_dirty;                    /* bytes behind `size` must be cut off */
    buffer_t gather;                  /* owned: header, table, references */
    journal_part_t *pieces;           /* owned: the body of one record */
    size_t pieces_max;                /* room in it */
};

/* A note that fails is behind, which says nothing wrong; the next one is
 * whole again. One for each record would double what a small one costs. */
static void note_head(journal_t *self)
{
    journal_head_t head = {.seq = self->last_seq};

    memcpy(head.chain, self->chain, sizeof(head.chain));
    journal_head_write(self->head_fd, &head, &self->key);
}

static void close_files(journal_t *self)
{
    if (self->head_fd >= 0) {
        note_head(self);
        close(take_fd(&self->head_fd));
    }
    if (self->fd >= 0)
        close(take_fd(&self->fd));
    if (self->folder_fd >= 0)
        close(take_fd(&self->folder_fd));
}

void journal_destroy(journal_t **self_p)
{
    journal_t *self = *self_p;

    if (!self)
        return;
    close_files(self);
    buffer_reset(&self->gather);
    free(self->pieces);
    free(self->closed);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

static int fail(journal_t *self, int code, const char *what, fault_t *fault)
{
    return fault_set(fault, code, "%s/%s: %s", self->folder, what,
                     strerror(code));
}

static int open_folder(journal_t *self, fault_t *fault)
{
    self->folder_fd =
        open(self->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (self->folder_fd < 0)
        return fault_set(fault, errno, "%s: %s", self->folder, strerror(errno));
    if (flock(self->folder_fd, LOCK_EX | LOCK_NB) < 0)
        return fault_set(fault, errno == EWOULDBLOCK ? EBUSY : errno,
                         "%s: another program writes this journal",
                         self->folder);
    return 0;
}

static int by_number(const void *left, const void *right)
{
    const closed_t *a = left;
    const closed_t *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

static void close_folder(DIR **folder_p)
{
    if (*folder_p)
        closedir(*folder_p);
}
#define cleanup_folder CLEANUP(close_folder)

/* Fills the list with every segment that is there, the last one too. */
static int find_segments(journal_t *self, fault_t *fault)
{
    struct stat there;
    closed_t found = {0};

    cleanup_folder DIR *folder = opendir(self->folder);
    if (!folder)
        return fault_set(fault, errno, "%s: %s", self->folder, strerror(errno));
    for (struct dirent *file = readdir(folder); file; file = readdir(folder)) {
        if (!segment_number(file->d_name, &found.number))
            continue;
        if (fstatat(self->folder_fd, file->d_name, &there, AT_SYMLINK_NOFOLLOW)
            < 0)
            return fail(self, errno, file->d_name, fault);
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

/* Begins a segment behind the last record. It comes into being with its
 * header, by a rename. */
static int begin_segment(journal_t *self, uint64_t number,
                         const uint8_t previous[SEGMENT_HASH_SIZE],
                         fault_t *fault)
{
    uint8_t bytes[SEGMENT_HEADER_SIZE];
    char name[SEGMENT_NAME_SIZE];
    segment_header_t header = {
        .number = number,
        .first_seq = self->last_seq + 1,
        .kernel_seq = self->last_kernel_seq,
    };

    segment_name(number, name);
    memcpy(header.previous, previous, sizeof(header.previous));
    segment_header_encode(&header, &self->key, bytes);
    cleanup_fd int fd =
        openat(self->folder_fd, UNFINISHED,
               O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail(self, errno, UNFINISHED, fault);
    int result = fd_write_all(fd, bytes, sizeof(bytes), fault);
    if (result < 0) {
        unlinkat(self->folder_fd, UNFINISHED, 0);
        return fault_wrap(fault, "%s/%s", self->folder, name);
    }
    if (renameat(self->folder_fd, UNFINISHED, self->folder_fd, name) < 0)
        return fail(self, errno, name, fault);
    if (self->fd >= 0)
        close(self->fd);
    self->fd = take_fd(&fd);
    self->number = number;
    self->size = sizeof(bytes);
    self->weight = sizeof(bytes);
    self->bytes += sizeof(bytes);
    segment_chain_start(&header, &self->key, self->chain);
    return 0;
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
    entry_t entry;
    int result = 1;

    segment_chain_start(header, &self->key, self->chain);
    self->last_seq = header->first_seq - 1;
    self->last_kernel_seq = header->kernel_seq;
    while (at < bytes->size) {
        result = entry_parse(bytes->data + at, bytes->size - at, &self->key,
                             self->chain, &entry, &needed);
        if (result != 1)
            break;
        self->last_seq = entry.record.seq;
        if (entry.record.kernel_seq)
            self->last_kernel_seq = entry.record.kernel_seq;
        self->weight += entry_spilled(&entry);
        at += entry.size;
    }
    self->weight += at;
    if (result < 0 && !is_zero(bytes->data + at, bytes->size - at))
        return fault_set(fault, EBADMSG,
                         "%s: segment %llu is damaged at byte %zu, behind "
                         "record %llu",
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
            return fail(self, errno, name, fault);
        *torn += bytes.size;
        self->bytes -= bytes.size;
        self->closed_count--;
        return 0;
    }
    if (segment_header_decode(bytes.data, &self->key, &header) < 0
        || header.number != last->number)
        return fault_set(fault, EBADMSG, "%s/%s: its header is damaged",
                         self->folder, name);
    result = follow(self, &bytes, &header, &self->size, fault);
    if (result < 0)
        return result;
    if (header.stage != SEGMENT_WHOLE) {
        last->stage = header.stage;
        result = begin_segment(self, last->number + 1, header.original, fault);
        return result < 0 ? result : 1;
    }
    self->fd = openat(self->folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (self->fd < 0 || ftruncate(self->fd, (off_t) self->size) < 0)
        return fail(self, errno, name, fault);
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

/* Records that were noted and are not there are told by one in their place:
 * their numbers are not given again, clients may have seen them. */
static int tell_loss(journal_t *self, fault_t *fault)
{
    journal_head_t head = {0};
    char content[96];
    journal_record_t record = {
        .kind = JOURNAL_STATE, .wall_us = clock_wall_us(), .type = "cut"};

    int result = journal_head_load(self->folder_fd, &self->key, &head);
    self->head_fd = journal_head_open(self->folder_fd);
    if (self->head_fd < 0)
        return fail(self, errno, "head", fault);
    if (result != 1 || head.seq <= self->last_seq)
        return 0;
    int size = snprintf(content, sizeof(content), "{\"from\":%llu,\"to\":%llu}",
                        (unsigned long long) self->last_seq + 1,
                        (unsigned long long) head.seq);
    record.content = (journal_part_t){content, (size_t) size};
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
        || (result = open_folder(self, fault)) < 0
        || (result = find_segments(self, fault)) < 0)
        return result;
    self->bytes += blobs_bytes(self->folder_fd);
    for (result = 0; result == 0 && self->closed_count;)
        result = open_last(self, &torn, fault);
    if (result == 0)
        result = begin_segment(self, 1, nothing, fault);
    if (result < 0)
        return result;
    for (size_t i = 0; i < self->closed_count; i++)
        learn_stage(self, &self->closed[i]);
    if ((result = tell_loss(self, fault)) < 0)
        return result;
    *ret_journal = take_ptr(self);
    if (ret_torn)
        *ret_torn = torn;
    return 0;
}

void journal_rest(journal_t *self)
{
    if (self->folder_fd >= 0 && !self->is_dirty)
        close_files(self);
}

/* The open segment, as it was left: nobody else may have written it. */
static int reopen(journal_t *self, fault_t *fault)
{
    char name[SEGMENT_NAME_SIZE];
    struct stat there;

    segment_name(self->number, name);
    self->fd = openat(self->folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (self->fd < 0 || fstat(self->fd, &there) < 0)
        return fail(self, errno, name, fault);
    if ((uint64_t) there.st_size != self->size)
        return fault_set(fault, EBADMSG,
                         "%s/%s: it has %llu bytes, %llu were written",
                         self->folder, name, (unsigned long long) there.st_size,
                         (unsigned long long) self->size);
    self->head_fd = journal_head_open(self->folder_fd);
    return self->head_fd < 0 ? fail(self, errno, "head", fault) : 0;
}

static int wake(journal_t *self, fault_t *fault)
{
    int result;

    if (self->folder_fd >= 0)
        return 0;
    result = open_folder(self, fault);
    if (result == 0)
        result = reopen(self, fault);
    if (result == 0)
        return 0;
    /* Not by close_files: there is nothing new to note. */
    if (self->fd >= 0)
        close(take_fd(&self->fd));
    if (self->folder_fd >= 0)
        close(take_fd(&self->folder_fd));
    return result;
}

/* Closes the open segment and begins the next one. */
static int rotate(journal_t *self, fault_t *fault)
{
    closed_t closed = {.number = self->number, .size = self->size};
    uint8_t end[SEGMENT_HASH_SIZE];

    memcpy(end, self->chain, sizeof(end));
    int result = begin_segment(self, self->number + 1, end, fault);
    if (result < 0)
        return result;
    self->closed =
        mem_resize(self->closed, (self->closed_count + 1) * sizeof(closed));
    self->closed[self->closed_count++] = closed;
    return 0;
}

/* The bytes of all blobs after those that no record refers to are gone. When
 * a segment cannot be read to its end, all stay. */
static uint64_t sweep(journal_t *self)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    cleanup_buffer buffer_t hashes = BUFFER_EMPTY;
    fault_t fault;

    for (uint64_t number = 1; number <= self->number; number++)
        if (segment_load(self->folder_fd, number, &bytes, &fault) < 0
            || compaction_list_blobs(&bytes, &self->key, &hashes, &fault) < 0)
            return blobs_bytes(self->folder_fd);
    return blobs_sweep(self->folder_fd, hashes.data,
                       hashes.size / BLOB_HASH_SIZE);
}

static int replace_segment(journal_t *self, const char *name,
                           const buffer_t *bytes, fault_t *fault)
{
    cleanup_fd int fd =
        openat(self->folder_fd, UNFINISHED,
               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail(self, errno, UNFINISHED, fault);
    int result = fd_write_all(fd, bytes->data, bytes->size, fault);
    if (result < 0) {
        unlinkat(self->folder_fd, UNFINISHED, 0);
        return result;
    }
    if (renameat(self->folder_fd, UNFINISHED, self->folder_fd, name) < 0)
        return fail(self, errno, name, fault);
    return 0;
}

static int compact(journal_t *self, closed_t *closed, segment_stage_t stage,
                   fault_t *fault)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    uint64_t blobs = blobs_bytes(self->folder_fd);
    char name[SEGMENT_NAME_SIZE];

    segment_name(closed->number, name);
    int result = segment_load(self->folder_fd, closed->number, &bytes, fault);
    if (result < 0)
        return result;
    result = compaction_run(&bytes, stage, &self->key, &out, fault);
    if (result < 0) {
        closed->is_damaged = true;
        return result;
    }
    result = replace_segment(self, name, &out, fault);
    if (result < 0)
        return result;
    self->bytes -= closed->size;
    self->bytes += out.size;
    closed->size = out.size;
    closed->stage = stage;
    if (blobs) {
        self->bytes -= blobs;
        self->bytes += sweep(self);
    }
    return 0;
}

/* The oldest segment that still has something to give; NULL when none has. */
static closed_t *next_to_compact(journal_t *self, segment_stage_t stage)
{
    for (size_t i = 0; i < self->closed_count; i++)
        if (!self->closed[i].is_damaged && self->closed[i].stage < stage)
            return &self->closed[i];
    return NULL;
}

/* Brings the journal below its bound again. It fails quietly: the record is
 * written, and the next attempt comes when another segment's worth is there. */
static void keep_bound(journal_t *self)
{
    fault_t fault;

    while (self->bytes > self->options.bytes_max) {
        segment_stage_t stage = SEGMENT_COMPACTED;
        closed_t *closed = next_to_compact(self, stage);
        if (!closed && self->weight > self->segment_max) {
            if (rotate(self, &fault) < 0)
                break;
            continue;
        }
        if (!closed) {
            stage = SEGMENT_EMPTIED;
            closed = next_to_compact(self, stage);
        }
        if (!closed)
            break;
        bool was_damaged = closed->is_damaged;
        if (compact(self, closed, stage, &fault) < 0
            && closed->is_damaged == was_damaged)
            break;
    }
    self->compact_at = self->options.bytes_max;
    if (self->bytes > self->options.bytes_max)
        self->compact_at = self->bytes + self->segment_max;
}

static int check_record(const journal_record_t *record, fault_t *fault)
{
    uint64_t size = (uint64_t) record->origin.size + record->header.size
                    + record->metadata.size + record->content.size;

    assert(record->kind >= JOURNAL_REQUEST && record->kind <= JOURNAL_GAP);
    if (record->buffer_count > ENTRY_BUFFERS_MAX)
        return fault_set(fault, EMSGSIZE, "a record of %zu buffers",
                         record->buffer_count);
    for (size_t i = 0; i < record->buffer_count; i++)
        size += record->buffers[i].size;
    if (size + 4 * record->buffer_count > ENTRY_BODY_MAX)
        return fault_set(fault, EMSGSIZE, "a record of %llu bytes",
                         (unsigned long long) size);
    return 0;
}

/* Room for header, table and references, none of which may move while the
 * pieces point to them; and for the pieces. */
static void prepare(journal_t *self, const journal_record_t *record)
{
    size_t count = ENTRY_PARTS + record->buffer_count;

    buffer_clear(&self->gather);
    buffer_reserve(&self->gather, ENTRY_HEADER_SIZE + 4 * record->buffer_count
                                      + SEGMENT_REFERENCE_SIZE * count);
    self->gather.size = ENTRY_HEADER_SIZE + 4 * record->buffer_count;
    if (self->pieces_max < count + 2) {
        self->pieces =
            mem_resize(self->pieces, (count + 2) * sizeof(*self->pieces));
        self->pieces_max = count + 2;
    }
}

/* One part becomes one piece, perhaps by way of a blob. */
static int lay_part(journal_t *self, const journal_part_t *part,
                    journal_part_t *ret_piece, uint32_t *ret_length,
                    uint64_t *blobs, fault_t *fault)
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
                   uint32_t lengths[ENTRY_PARTS], size_t *ret_size,
                   uint64_t *ret_blobs, fault_t *fault)
{
    const journal_part_t *parts[] = {&record->origin, &record->header,
                                     &record->metadata, &record->content};
    uint8_t *table = self->gather.data + ENTRY_HEADER_SIZE;
    size_t size = 4 * record->buffer_count;
    uint32_t length;

    *ret_blobs = 0;
    self->pieces[0] = (journal_part_t){table, size};
    for (size_t i = 0; i < ENTRY_PARTS + record->buffer_count; i++) {
        const journal_part_t *part =
            i < ENTRY_PARTS ? parts[i] : &record->buffers[i - ENTRY_PARTS];
        journal_part_t *piece = &self->pieces[i + 1];
        int result = lay_part(self, part, piece, &length, ret_blobs, fault);
        if (result < 0)
            return result;
        if (i < ENTRY_PARTS)
            lengths[i] = length;
        else
            le_put32(table + 4 * (i - ENTRY_PARTS), length);
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
        return fail(self, errno, "the open segment cannot be cut", fault);
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
            return fail(self, errno, "the open segment", fault);
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

/* Header and body to the file. Small ones are copied together first. */
static int write_entry(journal_t *self, const uint8_t *header, size_t count,
                       size_t size, fault_t *fault)
{
    uint8_t small[GATHER_MAX];
    struct iovec one = {small, ENTRY_HEADER_SIZE};

    if (ENTRY_HEADER_SIZE + size <= sizeof(small)) {
        memcpy(small, header, ENTRY_HEADER_SIZE);
        for (size_t i = 0; i < count; i++) {
            if (!self->pieces[i].size)
                continue;
            memcpy(small + one.iov_len, self->pieces[i].bytes,
                   self->pieces[i].size);
            one.iov_len += self->pieces[i].size;
        }
        return write_pieces(self, &one, 1, fault);
    }
    cleanup_free struct iovec *list = mem_new((count + 1) * sizeof(*list));
    list[0] = (struct iovec){self->gather.data, ENTRY_HEADER_SIZE};
    memcpy(self->gather.data, header, ENTRY_HEADER_SIZE);
    for (size_t i = 0; i < count; i++) {
        /* pwritev only reads; its type cannot say so. */
        memcpy(&list[i + 1].iov_base, &self->pieces[i].bytes, sizeof(void *));
        list[i + 1].iov_len = self->pieces[i].size;
    }
    return write_pieces(self, list, count + 1, fault);
}

int journal_append(journal_t *self, journal_record_t *record, fault_t *fault)
{
    uint8_t header[ENTRY_HEADER_SIZE];
    uint8_t chain[SEGMENT_HASH_SIZE];
    uint32_t lengths[ENTRY_PARTS];
    uint64_t blobs;
    size_t size;
    int result;

    if ((result = wake(self, fault)) < 0)
        return result;
    prepare(self, record);
    if ((result = check_record(record, fault)) < 0
        || (result = lay_out(self, record, lengths, &size, &blobs, fault)) < 0
        || (result = clean(self, fault)) < 0)
        return result;
    if (self->size > SEGMENT_HEADER_SIZE
        && self->weight + ENTRY_HEADER_SIZE + size + blobs > self->segment_max
        && (result = rotate(self, fault)) < 0)
        return result;

    size_t count = 1 + ENTRY_PARTS + record->buffer_count;
    record->seq = self->last_seq + 1;
    entry_header_encode(record, lengths, size, &self->key, header);
    memcpy(chain, self->chain, sizeof(chain));
    entry_chain(header, self->pieces, count, &self->key, chain);
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
    self->size += ENTRY_HEADER_SIZE + size;
    self->weight += ENTRY_HEADER_SIZE + size + blobs;
    self->bytes += ENTRY_HEADER_SIZE + size;
    if (record->kind == JOURNAL_REPLY || record->kind == JOURNAL_STATE)
        note_head(self);
    if (self->options.bytes_max && self->bytes > self->compact_at)
        keep_bound(self);
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

uint64_t journal_bytes(const journal_t *self)
{
    return self->bytes;
}
