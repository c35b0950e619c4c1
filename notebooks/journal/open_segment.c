/* The open segment of a journal: begun, rotated, closed while the journal rests
 * and opened again. Owned by the journal's writer, in its thread. */
#include "notebooks/journal/open_segment.h"

#include "base/fd.h"
#include "notebooks/journal/head.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes the head. If that fails, the head is older than the log, which is
 * permitted, and the next one is complete again. A head for each record would
 * double the cost of a small record. */
void journal_note_head(journal_t *self)
{
    journal_head_t head = {.seq = self->last_seq};

    memcpy(head.chain, self->chain, sizeof(head.chain));
    journal_head_write(self->head_fd, &head, &self->key);
}

void journal_close_files(journal_t *self)
{
    if (self->head_fd >= 0) {
        journal_note_head(self);
        close(take_fd(&self->head_fd));
    }
    if (self->fd >= 0)
        close(take_fd(&self->fd));
    if (self->folder_fd >= 0)
        close(take_fd(&self->folder_fd));
}

bool journal_is_held(const journal_t *self)
{
    if (self->head_fd < 0)
        return false;
    if (flock(self->head_fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK;
    (void) flock(self->head_fd, LOCK_UN);
    return false;
}

int journal_fail(journal_t *self, int code, const char *what, fault_t *fault)
{
    return fault_set(fault, code, "%s/%s: %s", self->folder, what,
                     strerror(code));
}

int journal_open_folder(journal_t *self, fault_t *fault)
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

/* Makes the segment with its header, under its final name, by a rename. */
int journal_begin_segment(journal_t *self, uint64_t number,
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
        openat(self->folder_fd, JOURNAL_UNFINISHED,
               O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return journal_fail(self, errno, JOURNAL_UNFINISHED, fault);
    int result = fd_write_all(fd, bytes, sizeof(bytes), fault);
    if (result < 0) {
        unlinkat(self->folder_fd, JOURNAL_UNFINISHED, 0);
        return fault_wrap(fault, "%s/%s", self->folder, name);
    }
    if (renameat(self->folder_fd, JOURNAL_UNFINISHED, self->folder_fd, name)
        < 0)
        return journal_fail(self, errno, name, fault);
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

void journal_rest(journal_t *self)
{
    if (self->folder_fd >= 0 && !self->is_dirty)
        journal_close_files(self);
}

/* Reopens the segment that was open last, after a check that no other process
 * has written to it. */
static int reopen(journal_t *self, fault_t *fault)
{
    char name[SEGMENT_NAME_SIZE];
    struct stat there;

    segment_name(self->number, name);
    self->fd = openat(self->folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (self->fd < 0 || fstat(self->fd, &there) < 0)
        return journal_fail(self, errno, name, fault);
    if ((uint64_t) there.st_size != self->size)
        return fault_set(fault, EBADMSG,
                         "%s/%s: it has %llu bytes, %llu were written",
                         self->folder, name, (unsigned long long) there.st_size,
                         (unsigned long long) self->size);
    self->head_fd = journal_head_open(self->folder_fd);
    return self->head_fd < 0 ? journal_fail(self, errno, "head", fault) : 0;
}

int journal_wake(journal_t *self, fault_t *fault)
{
    int result;

    if (self->folder_fd >= 0)
        return 0;
    result = journal_open_folder(self, fault);
    if (result == 0)
        result = reopen(self, fault);
    if (result == 0)
        return 0;
    /* Not by journal_close_files: there is nothing new to note. */
    if (self->fd >= 0)
        close(take_fd(&self->fd));
    if (self->folder_fd >= 0)
        close(take_fd(&self->folder_fd));
    return result;
}

int journal_rotate(journal_t *self, fault_t *fault)
{
    closed_t closed = {.number = self->number, .size = self->size};
    uint8_t end[SEGMENT_HASH_SIZE];

    memcpy(end, self->chain, sizeof(end));
    int result = journal_begin_segment(self, self->number + 1, end, fault);
    if (result < 0)
        return result;
    self->closed =
        mem_resize(self->closed, (self->closed_count + 1) * sizeof(closed));
    self->closed[self->closed_count++] = closed;
    return 0;
}
