/* The reader of a session's journal, in any process and at any time: while
 * records are appended, while old segments are compacted, after the end. It
 * holds no lock. That is safe for two reasons. Segments only grow at their end,
 * and are replaced only whole, by a rename, so that an open descriptor still
 * shows the old one. And nothing is believed that the chain does not
 * confirm. */
#include "notebooks/journal/writer.h"

#include "base/buffer.h"
#include "notebooks/journal/blobs.h"
#include "notebooks/journal/segment.h"

#include <sodium.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define READ_AHEAD (64u << 10)

struct journal_reader {
    char *folder;            /* owned: its path, for faults */
    int folder_fd;           /* owned */
    segment_key_t key;       /* of the chain */
    uint64_t last_seq;       /* records up to it are not wanted (any more) */
    int fd;                  /* owned: the segment that is read, or -1 */
    segment_header_t header; /* its */
    uint64_t at;             /* offset in it: where the next record begins */
    uint64_t record_seq;     /* the last record that was passed */
    uint8_t chain[SEGMENT_HASH_SIZE]; /* its hash */
    journal_mark_t mark;              /* where it begins */
    buffer_t window;                  /* owned: bytes of the segment */
    size_t window_used;               /* of them before `at` */
    buffer_t *loaded;   /* owned: spilled parts of the lent record */
    size_t loaded_max;  /* of them */
    bytes_t *buffers;   /* owned: the lent record's list */
    size_t buffers_max; /* room in it */
};

void journal_reader_destroy(journal_reader_t **self_p)
{
    journal_reader_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->loaded_max; i++)
        buffer_reset(&self->loaded[i]);
    free(self->loaded);
    free(self->buffers);
    buffer_reset(&self->window);
    if (self->fd >= 0)
        close(self->fd);
    if (self->folder_fd >= 0)
        close(self->folder_fd);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

static int damaged(journal_reader_t *self, const char *what, fault_t *fault)
{
    return fault_set(
        fault, EBADMSG,
        "%s: segment %llu is damaged at byte %llu, after record %llu: %s",
        self->folder, (unsigned long long) self->header.number,
        (unsigned long long) self->at, (unsigned long long) self->record_seq,
        what);
}

/* Opens a segment and checks its header. 1: it is there; 0: not (yet). */
static int open_segment(journal_reader_t *self, uint64_t number, int *ret_fd,
                        segment_header_t *ret_header, fault_t *fault)
{
    uint8_t bytes[SEGMENT_HEADER_SIZE];
    char name[SEGMENT_NAME_SIZE];

    segment_name(number, name);
    cleanup_fd int fd =
        openat(self->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return fault_set(fault, errno, "%s/%s: %s", self->folder, name,
                         strerror(errno));
    ssize_t got = pread(fd, bytes, sizeof(bytes), 0);
    if (got < 0)
        return fault_set(fault, errno, "%s/%s: %s", self->folder, name,
                         strerror(errno));
    if ((size_t) got < sizeof(bytes))
        return 0;
    if (segment_header_decode(bytes, &self->key, ret_header) < 0
        || ret_header->number != number)
        return fault_set(fault, EBADMSG,
                         "%s/%s: its header is damaged, or was sealed "
                         "with another journal key than this one",
                         self->folder, name);
    *ret_fd = take_fd(&fd);
    return 1;
}

/* Begins to read a segment from its front. */
static void enter(journal_reader_t *self, int *fd,
                  const segment_header_t *header)
{
    if (self->fd >= 0)
        close(self->fd);
    self->fd = take_fd(fd);
    self->header = *header;
    self->at = SEGMENT_HEADER_SIZE;
    self->record_seq = header->first_seq - 1;
    segment_chain_start(header, &self->key, self->chain);
    buffer_clear(&self->window);
    self->window_used = 0;
}

static void close_folder(DIR **folder_p)
{
    if (*folder_p)
        closedir(*folder_p);
}
#define cleanup_folder CLEANUP(close_folder)

/* The highest segment's number (0: none). A hole in the row is damage. */
static int find_highest(journal_reader_t *self, uint64_t *ret_highest,
                        fault_t *fault)
{
    cleanup_folder DIR *folder = opendir(self->folder);
    char name[SEGMENT_NAME_SIZE];
    uint64_t highest = 0;
    uint64_t number;

    if (!folder)
        return fault_set(fault, errno, "%s: %s", self->folder, strerror(errno));
    for (struct dirent *file = readdir(folder); file; file = readdir(folder))
        if (segment_number(file->d_name, &number) && number > highest)
            highest = number;
    /* From the highest number down: an invented number ends the search at once.
     */
    for (number = highest; number > 0; number--) {
        segment_name(number, name);
        if (faccessat(self->folder_fd, name, F_OK, 0) < 0)
            return fault_set(fault, EBADMSG, "%s: segment %llu is missing",
                             self->folder, (unsigned long long) number);
    }
    *ret_highest = highest;
    return 0;
}

/* Enters the last segment that begins at or before the wanted record. */
static int find_start(journal_reader_t *self, fault_t *fault)
{
    segment_header_t header = {0};
    uint64_t number = 0;

    int result = find_highest(self, &number, fault);
    if (result < 0)
        return result;
    for (; number > 0; number--) {
        cleanup_fd int fd = -1;
        result = open_segment(self, number, &fd, &header, fault);
        if (result < 0)
            return result;
        if (result > 0
            && (header.first_seq <= self->last_seq + 1 || number == 1)) {
            enter(self, &fd, &header);
            break;
        }
    }
    return 0;
}

int journal_reader_new(const char *folder, const uint8_t *key, uint64_t since,
                       journal_reader_t **ret_reader, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *self = mem_new(sizeof(*self));

    self->fd = -1;
    self->folder = mem_text(folder);
    self->last_seq = since;
    if (sodium_init() < 0)
        return fault_set(fault, EIO, "libsodium cannot be used");
    segment_key_set(&self->key, key);
    self->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->folder_fd < 0)
        return fault_set(fault, errno, "%s: %s", folder, strerror(errno));
    int result = find_start(self, fault);
    if (result < 0)
        return result;
    *ret_reader = take_ptr(self);
    return 0;
}

/* Makes `needed` bytes from `at` on available. 1: they are; 0: the file ends
 * before. Memory follows the file, never what a length announces. */
static int fill(journal_reader_t *self, size_t needed, fault_t *fault)
{
    struct stat there;

    if (self->window.size - self->window_used >= needed)
        return 1;
    if (fstat(self->fd, &there) < 0)
        return fault_set(fault, errno, "%s: %s", self->folder, strerror(errno));
    if (self->at + needed > (uint64_t) there.st_size)
        return 0;
    buffer_consume(&self->window, self->window_used);
    self->window_used = 0;
    while (self->window.size < needed) {
        size_t more = needed - self->window.size;
        if (more < READ_AHEAD)
            more = READ_AHEAD;
        uint8_t *to = buffer_reserve(&self->window, more);
        ssize_t got =
            pread(self->fd, to, more, (off_t) (self->at + self->window.size));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fault_set(fault, errno, "%s: %s", self->folder,
                             strerror(errno));
        if (got == 0)
            return 0;
        self->window.size += (size_t) got;
    }
    return 1;
}

static void forget_window(journal_reader_t *self)
{
    buffer_clear(&self->window);
    self->window_used = 0;
}

/* The entry at `at`. 1: passed and in *ret_entry; 0: not complete; -EBADMSG
 * without a fault: it is not what the chain expects. */
static int read_entry(journal_reader_t *self, stored_record_t *ret_entry,
                      fault_t *fault)
{
    journal_mark_t mark = {
        self->header.number, self->at, self->record_seq, {0}};
    size_t needed = RECORD_HEADER_SIZE;
    int result = 0;

    memcpy(mark.chain, self->chain, sizeof(mark.chain));
    while (result == 0) {
        result = fill(self, needed, fault);
        if (result != 1)
            return result;
        result = record_parse(self->window.data + self->window_used,
                              self->window.size - self->window_used, &self->key,
                              self->chain, ret_entry, &needed);
    }
    if (result < 0)
        return result;
    self->mark = mark;
    self->at += ret_entry->size;
    self->window_used += ret_entry->size;
    self->record_seq = ret_entry->record.seq;
    return 1;
}

/* Reads the next entry, like read_entry, with a fault. A writer that failed in
 * the middle of a record cuts it off and writes another one in its place. A
 * reader that has read in that moment has a mixture of both, and reads again.
 */
static int next_entry(journal_reader_t *self, stored_record_t *ret_entry,
                      fault_t *fault)
{
    int result = read_entry(self, ret_entry, fault);

    if (result == 1)
        return result;
    forget_window(self);
    if (result == -EBADMSG) {
        result = read_entry(self, ret_entry, fault);
        if (result == -EBADMSG)
            return damaged(self, "not what was written", fault);
    }
    return result;
}

/* Whether the segment that was read to its end is all that was written, and
 * `next` follows it. */
static int check_seam(journal_reader_t *self, const segment_header_t *next,
                      fault_t *fault)
{
    const uint8_t *end = self->chain;
    struct stat there;

    if (fstat(self->fd, &there) < 0)
        return fault_set(fault, errno, "%s: %s", self->folder, strerror(errno));
    if (self->at != (uint64_t) there.st_size)
        return damaged(self, "a record is not complete", fault);
    if (self->header.stage != SEGMENT_WHOLE) {
        if (memcmp(self->chain, self->header.end, SEGMENT_HASH_SIZE) != 0)
            return damaged(self, "its end is missing", fault);
        end = self->header.original;
    }
    if (memcmp(next->previous, end, SEGMENT_HASH_SIZE) != 0)
        return damaged(self, "its end is missing", fault);
    return 0;
}

/* At the end of a segment. 1: go on reading; 0: the end for now. */
static int go_on(journal_reader_t *self, stored_record_t *ret_entry,
                 bool *ret_has, fault_t *fault)
{
    cleanup_fd int fd = -1;
    segment_header_t next = {0};

    int result = open_segment(self, self->header.number + 1, &fd, &next, fault);
    if (result != 1)
        return result;
    /* The next one was begun after this one's last record, which may have
     * been written after we looked. */
    result = next_entry(self, ret_entry, fault);
    *ret_has = result == 1;
    if (result != 0)
        return result;
    result = check_seam(self, &next, fault);
    if (result < 0)
        return result;
    enter(self, &fd, &next);
    return 1;
}

/* Whether the file of the segment is another one by now; then it is read from
 * its front. */
static int reopen(journal_reader_t *self, bool *ret_changed, fault_t *fault)
{
    cleanup_fd int fd = -1;
    segment_header_t header = {0};
    struct stat ours;
    struct stat there;

    int result = open_segment(self, self->header.number, &fd, &header, fault);
    if (result < 0)
        return result;
    *ret_changed = result == 1 && fstat(self->fd, &ours) == 0
                   && fstat(fd, &there) == 0 && ours.st_ino != there.st_ino;
    if (*ret_changed)
        enter(self, &fd, &header);
    return 0;
}

journal_mark_t journal_reader_mark(const journal_reader_t *self)
{
    return self->mark;
}

int journal_reader_seek(journal_reader_t *self, const journal_mark_t *mark,
                        fault_t *fault)
{
    cleanup_fd int fd = -1;
    segment_header_t header = {0};

    int result = open_segment(self, mark->segment, &fd, &header, fault);
    if (result < 0)
        return result;
    if (result == 0)
        return fault_set(fault, ENOENT, "%s: segment %llu is missing",
                         self->folder, (unsigned long long) mark->segment);
    enter(self, &fd, &header);
    self->at = mark->at;
    self->record_seq = mark->seq;
    self->last_seq = mark->seq;
    memcpy(self->chain, mark->chain, sizeof(self->chain));
    return 0;
}

journal_head_t journal_reader_head(const journal_reader_t *self)
{
    journal_head_t head = {.seq = self->fd < 0 ? 0 : self->record_seq};

    if (head.seq)
        memcpy(head.chain, self->chain, sizeof(head.chain));
    return head;
}

bool journal_reader_is_original(const journal_reader_t *self)
{
    return self->header.stage == SEGMENT_WHOLE;
}

static void make_room(journal_reader_t *self, size_t buffers)
{
    size_t count = RECORD_PARTS + buffers;

    if (self->loaded_max < count) {
        self->loaded = mem_resize(self->loaded, count * sizeof(*self->loaded));
        memset(self->loaded + self->loaded_max, 0,
               (count - self->loaded_max) * sizeof(*self->loaded));
        self->loaded_max = count;
    }
    if (self->buffers_max < buffers) {
        self->buffers =
            mem_resize(self->buffers, buffers * sizeof(*self->buffers));
        self->buffers_max = buffers;
    }
}

/* The parts of the lent record. -ENOENT: a spilled one is no longer there. */
static int load_parts(journal_reader_t *self, const stored_record_t *entry,
                      journal_record_t *ret_record, fault_t *fault)
{
    journal_record_t record = entry->record;
    bytes_t *parts[] = {&record.origin, &record.header, &record.metadata,
                        &record.content};
    size_t cursor = 0;
    size_t offset = 0;
    bytes_t stored;
    bool is_spilled;

    make_room(self, record.buffer_count);
    while (record_each(entry, &cursor, &offset, &stored, &is_spilled)) {
        size_t index = cursor - 1;
        buffer_t *loaded = &self->loaded[index];
        bytes_t *part = index < RECORD_PARTS
                            ? parts[index]
                            : &self->buffers[index - RECORD_PARTS];
        *part = stored;
        if (!is_spilled)
            continue;
        int result = blob_read(self->folder_fd, stored.bytes, loaded, fault);
        if (result < 0)
            return result;
        *part = buffer_bytes(loaded);
    }
    record.buffers = record.buffer_count ? self->buffers : NULL;
    *ret_record = record;
    return 0;
}

/* A part is missing when a compaction has just taken it: then the segment is
 * another one and says what has gone. 0: go on reading. */
static int on_missing_part(journal_reader_t *self, fault_t *fault)
{
    fault_t missing = *fault;
    bool is_changed = false;

    int result = reopen(self, &is_changed, fault);
    if (result < 0 || is_changed)
        return result;
    *fault = missing;
    fault->code = EBADMSG;
    return fault_wrap(fault, "%s, record %llu", self->folder,
                      (unsigned long long) self->record_seq);
}

/* Spilled parts of the record before are not kept: one may be big. */
static void forget_loaded(journal_reader_t *self)
{
    for (size_t i = 0; i < self->loaded_max; i++)
        buffer_reset(&self->loaded[i]);
}

int journal_reader_next(journal_reader_t *self, journal_record_t *ret_record,
                        fault_t *fault)
{
    stored_record_t entry;

    forget_loaded(self);
    if (self->fd < 0) {
        int result = find_start(self, fault);
        if (result < 0 || self->fd < 0)
            return result;
    }
    for (;;) {
        int result = next_entry(self, &entry, fault);
        bool has_entry = result == 1;
        if (result == 0)
            result = go_on(self, &entry, &has_entry, fault);
        if (result <= 0)
            return result;
        if (!has_entry || entry.record.seq <= self->last_seq)
            continue;
        result = load_parts(self, &entry, ret_record, fault);
        if (result == -ENOENT) {
            result = on_missing_part(self, fault);
            if (result < 0)
                return result;
            continue;
        }
        if (result < 0)
            return fault_wrap(fault, "%s, record %llu", self->folder,
                              (unsigned long long) entry.record.seq);
        self->last_seq = entry.record.seq;
        return 1;
    }
}
