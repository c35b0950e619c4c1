/* See segment_cursor.h. */
#include "notebooks/journal/segment_cursor.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_AHEAD (64u << 10)

void segment_cursor_init(segment_cursor_t *self, const char *folder,
                         const uint8_t *key)
{
    *self = (segment_cursor_t){.folder = folder, .fd = -1};
    segment_key_set(&self->key, key);
}

void segment_cursor_clear(segment_cursor_t *self)
{
    buffer_reset(&self->window);
    cleanup_fd_p(&self->fd);
    self->fd = -1;
}

static int damaged(const segment_cursor_t *self, const char *what,
                   fault_t *fault)
{
    return fault_set(
        fault, EBADMSG,
        "%s: segment %llu is damaged at byte %llu, after record %llu: %s",
        self->folder, (unsigned long long) self->header.number,
        (unsigned long long) self->at, (unsigned long long) self->seq, what);
}

static void forget_window(segment_cursor_t *self)
{
    buffer_clear(&self->window);
    self->window_used = 0;
}

void segment_cursor_enter(segment_cursor_t *self, int *fd,
                          const segment_header_t *header)
{
    if (self->fd >= 0)
        close(self->fd);
    self->fd = take_fd(fd);
    self->header = *header;
    self->at = SEGMENT_HEADER_SIZE;
    self->seq = header->first_seq - 1;
    segment_chain_start(header, &self->key, self->chain);
    forget_window(self);
}

void segment_cursor_seek(segment_cursor_t *self, const journal_mark_t *mark)
{
    forget_window(self);
    self->at = mark->at;
    self->seq = mark->seq;
    memcpy(self->chain, mark->chain, sizeof(self->chain));
}

/* Makes `needed` bytes from `at` on available. Returns 1 if they are there; 0
 * if the file ends before. Memory follows the file, never what a length
 * announces.
 */
static int fill(segment_cursor_t *self, size_t needed, fault_t *fault)
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

/* Reads the record at `at`, like segment_cursor_next; but sets no fault if it
 * is not what the chain expects. */
static int read_entry(segment_cursor_t *self, stored_record_t *ret_entry,
                      fault_t *fault)
{
    journal_mark_t mark = {self->header.number, self->at, self->seq, {0}};
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
    self->seq = ret_entry->record.seq;
    return 1;
}

/* Reads again after a failure. A writer that failed in the middle of a record
 * cuts it off and writes another one in its place. A reader that has read in
 * that moment has a mixture of both. */
int segment_cursor_next(segment_cursor_t *self, stored_record_t *ret_entry,
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

int segment_cursor_check_end(const segment_cursor_t *self,
                             const segment_header_t *next, fault_t *fault)
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
