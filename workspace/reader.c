/* See reader.h. One thread at a time. Never mapped: a file that shrinks would
 * end the program. */
#include "workspace/reader.h"

#include "base/buffer.h"
#include "workspace/beneath.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

/* File times move with the kernel's tick, 10 ms at the slowest (until Linux
 * 6.13 has finer ones): a change within the same tick as one before would not
 * show in them. A file that was changed so lately is watched. */
#define TICK_NS INT64_C(12000000)

struct reader {
    int fd;             /* owned */
    int watch_fd;       /* owned: inotify's, of a file changed lately; or -1 */
    struct stat status; /* when it was opened */
    bool may_grow;
    bool has_grown;
    bool is_sealed; /* its times say nothing */
};

void reader_destroy(reader_t **self_p)
{
    reader_t *self = *self_p;

    if (!self)
        return;
    if (self->fd >= 0)
        close(self->fd);
    if (self->watch_fd >= 0)
        close(self->watch_fd);
    free(self);
    *self_p = NULL;
}

static bool is_fresh(const struct stat *status)
{
    struct timespec now;
    int64_t age;

    (void) clock_gettime(CLOCK_REALTIME, &now);
    age = ((int64_t) now.tv_sec - status->st_ctim.tv_sec) * 1000000000
          + (now.tv_nsec - status->st_ctim.tv_nsec);
    return age >= 0 && age < TICK_NS;
}

/* Watches the file. Data that was written before the status is read again was
 * there before the first read. */
static int watch(reader_t *self, fault_t *fault)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", self->fd);
    self->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (self->watch_fd < 0
        || inotify_add_watch(self->watch_fd, path, IN_MODIFY) < 0)
        return fault_set(fault, errno,
                         "the file is being written, and cannot be watched: %s",
                         strerror(errno));
    if (fstat(self->fd, &self->status) < 0)
        return fault_set(fault, errno, "stat: %s", strerror(errno));
    return 0;
}

static bool was_written(const reader_t *self)
{
    char event[sizeof(struct inotify_event)];

    return self->watch_fd >= 0 && read(self->watch_fd, event, sizeof event) > 0;
}

int reader_new(int root, const char *path, bool may_grow, reader_t **ret_reader,
               fault_t *fault)
{
    cleanup_reader reader_t *self = mem_new(sizeof *self);
    int r;

    self->fd = self->watch_fd = -1;
    self->may_grow = may_grow;
    r = beneath_file(root, path, &self->fd, &self->status, fault);
    if (r < 0)
        return r;
    if (is_fresh(&self->status) && (r = watch(self, fault)) < 0)
        return r;
    *ret_reader = take_ptr(self);
    return 0;
}

int reader_new_file(int *fd_p, reader_t **ret_reader, fault_t *fault)
{
    cleanup_reader reader_t *self = mem_new(sizeof *self);

    self->fd = *fd_p;
    *fd_p = self->watch_fd = -1;
    self->is_sealed = true;
    if (fstat(self->fd, &self->status) < 0)
        return fault_set(fault, errno, "stat: %s", strerror(errno));
    if (!S_ISREG(self->status.st_mode))
        return fault_set(fault, EINVAL, "it is not a plain file");
    *ret_reader = take_ptr(self);
    return 0;
}

const struct stat *reader_status(const reader_t *self)
{
    return &self->status;
}

bool reader_has_grown(const reader_t *self)
{
    return self->has_grown;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Checks after each read that the file has not changed. */
static int check(reader_t *self, fault_t *fault)
{
    struct stat now;

    if (fstat(self->fd, &now) < 0)
        return fault_set(fault, errno, "stat: %s", strerror(errno));
    if (now.st_size > self->status.st_size) {
        self->has_grown = true;
        if (self->may_grow)
            return 0;
        return fault_set(fault, ESTALE,
                         "the file grew from %" PRIu64 " to %" PRIu64
                         " bytes while it was read",
                         (uint64_t) self->status.st_size,
                         (uint64_t) now.st_size);
    }
    if (now.st_size < self->status.st_size)
        return fault_set(fault, ESTALE,
                         "the file shrank from %" PRIu64 " to %" PRIu64
                         " bytes while it was read",
                         (uint64_t) self->status.st_size,
                         (uint64_t) now.st_size);
    if (self->is_sealed)
        return 0;
    if (!is_same_time(now.st_mtim, self->status.st_mtim)
        || !is_same_time(now.st_ctim, self->status.st_ctim)
        || was_written(self))
        return fault_set(fault, ESTALE,
                         "the file was changed while it was read");
    return 0;
}

/* Returns how many bytes from `offset` on are a hole in the file. Returns 0 if
 * data is there, or if the file system reports no holes. */
static uint64_t find_hole(const reader_t *self, uint64_t offset)
{
    uint64_t end = (uint64_t) self->status.st_size;
    off_t data = lseek(self->fd, (off_t) offset, SEEK_DATA);

    if (data < 0)
        return errno == ENXIO ? end - offset : 0;
    if ((uint64_t) data > end)
        data = (off_t) end;
    return (uint64_t) data - offset;
}

int reader_read(reader_t *self, uint64_t offset, void *bytes, size_t max,
                piece_t *ret_piece, fault_t *fault)
{
    uint64_t end = (uint64_t) self->status.st_size;
    piece_t piece = {0};
    ssize_t size = 0;
    int r;

    if (offset < end && max) {
        piece.hole = find_hole(self, offset);
        if (max > end - offset)
            max = (size_t) (end - offset);
        if (!piece.hole)
            size = pread(self->fd, bytes, max, (off_t) offset);
        if (size < 0)
            return fault_set(fault, errno, "read: %s", strerror(errno));
        piece.size = (size_t) size;
    }
    r = check(self, fault);
    if (r < 0)
        return r;
    if (offset < end && max && !piece.size && !piece.hole)
        return fault_set(fault, ESTALE,
                         "the file ended early while it was read");
    *ret_piece = piece;
    return 0;
}
