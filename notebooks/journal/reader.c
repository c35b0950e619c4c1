/* The reader of a session's journal, in any process and at any time: while
 * records are appended, while old segments are compacted, after the end. It
 * holds no lock. That is safe for two reasons. Segments only grow at their end,
 * and are replaced only whole, by a rename, so that an open descriptor still
 * shows the old one. And nothing is believed that the chain does not
 * confirm. */
#include "notebooks/journal/reader.h"

#include "base/cleanup.h"
#include "notebooks/journal/lent_parts.h"
#include "notebooks/journal/segment_cursor.h"

#include <sodium.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct journal_reader {
    char *folder;            /* owned; its path, for faults */
    int folder_fd;           /* owned */
    uint64_t last_seq;       /* records up to it are not wanted (any more) */
    segment_cursor_t cursor; /* owned */
    lent_parts_t parts;      /* owned; of the lent record */
};

void journal_reader_destroy(journal_reader_t **self_p)
{
    journal_reader_t *self = *self_p;

    if (!self)
        return;
    lent_parts_clear(&self->parts);
    segment_cursor_clear(&self->cursor);
    if (self->folder_fd >= 0)
        close(self->folder_fd);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

/* Opens a segment and checks its header. Returns 1 if it is there; 0 if not, or
 * not yet. */
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
    if (segment_header_decode(bytes, &self->cursor.key, ret_header) < 0
        || ret_header->number != number)
        return fault_set(fault, EBADMSG,
                         "%s/%s: its header is damaged, or was sealed "
                         "with another journal key than this one",
                         self->folder, name);
    *ret_fd = take_fd(&fd);
    return 1;
}

/* Finds the highest segment's number (0: there is none). A hole in the row is
 * damage. */
static int find_highest(journal_reader_t *self, uint64_t *ret_highest,
                        fault_t *fault)
{
    cleanup_dir DIR *folder = opendir(self->folder);
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
            segment_cursor_enter(&self->cursor, &fd, &header);
            break;
        }
    }
    return 0;
}

int journal_reader_new(const char *folder, const uint8_t *key, uint64_t since,
                       journal_reader_t **ret_reader, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *self = mem_new(sizeof(*self));

    self->folder = mem_text(folder);
    self->folder_fd = -1;
    self->last_seq = since;
    segment_cursor_init(&self->cursor, self->folder, key);
    if (sodium_init() < 0)
        return fault_set(fault, EIO, "libsodium cannot be used");
    self->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->folder_fd < 0)
        return fault_set(fault, errno, "%s: %s", folder, strerror(errno));
    int result = find_start(self, fault);
    if (result < 0)
        return result;
    *ret_reader = take_ptr(self);
    return 0;
}

/* Goes to the next segment at the end of one. Returns 1 to go on reading, with
 * the record that was found meanwhile if *ret_has is true; 0 at the end for
 * now.
 */
static int go_on(journal_reader_t *self, stored_record_t *ret_entry,
                 bool *ret_has, fault_t *fault)
{
    cleanup_fd int fd = -1;
    segment_header_t next = {0};

    int result =
        open_segment(self, self->cursor.header.number + 1, &fd, &next, fault);
    if (result != 1)
        return result;
    /* The next one was begun after this one's last record, which may have
     * been written after we looked. */
    result = segment_cursor_next(&self->cursor, ret_entry, fault);
    *ret_has = result == 1;
    if (result != 0)
        return result;
    result = segment_cursor_check_end(&self->cursor, &next, fault);
    if (result < 0)
        return result;
    segment_cursor_enter(&self->cursor, &fd, &next);
    return 1;
}

/* Reads the segment from its front if its file is another one by now;
 * *ret_changed says so. */
static int reopen(journal_reader_t *self, bool *ret_changed, fault_t *fault)
{
    cleanup_fd int fd = -1;
    segment_header_t header = {0};
    struct stat ours;
    struct stat there;

    int result =
        open_segment(self, self->cursor.header.number, &fd, &header, fault);
    if (result < 0)
        return result;
    *ret_changed = result == 1 && fstat(self->cursor.fd, &ours) == 0
                   && fstat(fd, &there) == 0 && ours.st_ino != there.st_ino;
    if (*ret_changed)
        segment_cursor_enter(&self->cursor, &fd, &header);
    return 0;
}

journal_mark_t journal_reader_mark(const journal_reader_t *self)
{
    return self->cursor.mark;
}

int journal_reader_enter(journal_reader_t *self, uint64_t segment,
                         uint64_t since, fault_t *fault)
{
    cleanup_fd int fd = -1;
    segment_header_t header = {0};

    int result = open_segment(self, segment, &fd, &header, fault);
    if (result < 0)
        return result;
    if (result == 0)
        return fault_set(fault, ENOENT, "%s: segment %llu is missing",
                         self->folder, (unsigned long long) segment);
    segment_cursor_enter(&self->cursor, &fd, &header);
    self->last_seq = since;
    return 0;
}

int journal_reader_seek(journal_reader_t *self, const journal_mark_t *mark,
                        fault_t *fault)
{
    int result = journal_reader_enter(self, mark->segment, mark->seq, fault);

    if (result == 0)
        segment_cursor_seek(&self->cursor, mark);
    return result;
}

/* Returns the size of a segment's file; 0 if it is not there. */
static uint64_t segment_size(const journal_reader_t *self, uint64_t number)
{
    char name[SEGMENT_NAME_SIZE];
    struct stat there;

    segment_name(number, name);
    return fstatat(self->folder_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0
               ? (uint64_t) there.st_size
               : 0;
}

int journal_reader_skip_to_recent(journal_reader_t *self, uint64_t bytes_max,
                                  fault_t *fault)
{
    cleanup_fd int fd = -1;
    segment_header_t header = {0};
    uint64_t number = 0, bytes;

    int result = find_highest(self, &number, fault);
    if (result < 0 || number == 0)
        return result;
    bytes = segment_size(self, number);
    while (number > 1 && (bytes += segment_size(self, number - 1)) <= bytes_max)
        number--;
    result = open_segment(self, number, &fd, &header, fault);
    if (result > 0)
        segment_cursor_enter(&self->cursor, &fd, &header);
    return result < 0 ? result : 0;
}

journal_head_t journal_reader_head(const journal_reader_t *self)
{
    journal_head_t head = {.seq = self->cursor.fd < 0 ? 0 : self->cursor.seq};

    if (head.seq)
        memcpy(head.chain, self->cursor.chain, sizeof(head.chain));
    return head;
}

bool journal_reader_is_original(const journal_reader_t *self)
{
    return self->cursor.header.stage == SEGMENT_WHOLE;
}

/* Handles a part that is missing. Returns 0 to go on reading if a compaction
 * has just taken it: then the segment is another one and says what has gone. */
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
                      (unsigned long long) self->cursor.seq);
}

int journal_reader_next(journal_reader_t *self, journal_record_t *ret_record,
                        fault_t *fault)
{
    stored_record_t entry;

    lent_parts_forget(&self->parts);
    if (self->cursor.fd < 0) {
        int result = find_start(self, fault);
        if (result < 0 || self->cursor.fd < 0)
            return result;
    }
    for (;;) {
        int result = segment_cursor_next(&self->cursor, &entry, fault);
        bool has_entry = result == 1;
        if (result == 0)
            result = go_on(self, &entry, &has_entry, fault);
        if (result <= 0)
            return result;
        if (!has_entry || entry.record.seq <= self->last_seq)
            continue;
        result = lent_parts_load(&self->parts, self->folder_fd, &entry,
                                 ret_record, fault);
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
