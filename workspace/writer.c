/* See writer.h. One thread at a time. A file of O_TMPFILE has no name until the
 * end, so that a gateway that is killed leaves nothing. File systems without
 * O_TMPFILE get a file with a random name. */
#include "workspace/writer.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "workspace/beneath.h"
#include "workspace/name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define FILE_MODE  0644 /* where no file was before */
#define NAME_TRIES 16

struct writer {
    int folder;         /* owned; where the name belongs */
    char *name;         /* owned */
    int fd;             /* owned */
    char temporary[40]; /* its temporary name; "" if it has none */
    uint64_t size;
    usage_t replaced; /* set by the commit */
    bool replaces;
};

void writer_destroy(writer_t **self_p)
{
    writer_t *self = *self_p;

    if (!self)
        return;
    if (self->temporary[0])
        (void) unlinkat(self->folder, self->temporary, 0);
    if (self->fd >= 0)
        close(self->fd);
    if (self->folder >= 0)
        close(self->folder);
    free(self->name);
    free(self);
    *self_p = NULL;
}

static int refuse(const writer_t *self, int code, fault_t *fault)
{
    cleanup_free char *text = name_text(self->name);

    return fault_set(fault, code, "%.150s: %s", text, strerror(code));
}

static void choose_name(writer_t *self)
{
    uint64_t number = 0;

    /* So few bytes are never cut short once the machine has started. */
    while (getrandom(&number, sizeof number, 0) != (ssize_t) sizeof number)
        continue;
    (void) snprintf(self->temporary, sizeof self->temporary,
                    ".hearth-put-%016" PRIx64, number);
}

static int create(writer_t *self, fault_t *fault)
{
    int r = beneath_open(self->folder, "", O_RDWR | O_TMPFILE, FILE_MODE,
                         &self->fd, fault);

    if (r != -EOPNOTSUPP && r != -EISDIR && r != -EINVAL && r != -ENOENT)
        return r;
    for (int i = 0; i < NAME_TRIES; i++) {
        choose_name(self);
        r = beneath_open(self->folder, self->temporary,
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE,
                         &self->fd, fault);
        if (r == 0)
            return 0;
        self->temporary[0] = '\0';
        if (r != -EEXIST)
            return r;
    }
    return r;
}

/* Checks the existing file: its mode is kept, and a folder is an error. */
static int check_old(writer_t *self, mode_t *ret_mode, fault_t *fault)
{
    struct stat old;

    if (fstatat(self->folder, self->name, &old, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : refuse(self, errno, fault);
    if (S_ISDIR(old.st_mode))
        return refuse(self, EISDIR, fault);
    if (!self->replaces)
        return refuse(self, EEXIST, fault);
    if (S_ISREG(old.st_mode))
        *ret_mode = old.st_mode & 0777;
    return 0;
}

int writer_new(int root, const char *path, bool replaces, writer_t **ret_writer,
               fault_t *fault)
{
    cleanup_writer writer_t *self = mem_new(sizeof *self);
    mode_t mode = FILE_MODE;
    const char *name;
    int r;

    self->folder = self->fd = -1;
    self->replaces = replaces;
    r = beneath_parent(root, path, &self->folder, &name, fault);
    if (r < 0)
        return r;
    self->name = mem_text(name);
    if ((r = check_old(self, &mode, fault)) < 0
        || (r = create(self, fault)) < 0)
        return r;
    if (fchmod(self->fd, mode) < 0)
        return refuse(self, errno, fault);
    r = beneath_give(root, self->fd, fault);
    if (r < 0)
        return r;
    *ret_writer = take_ptr(self);
    return 0;
}

uint64_t writer_size(const writer_t *self)
{
    return self->size;
}

int writer_write(writer_t *self, const void *bytes, size_t size, fault_t *fault)
{
    const char *at = bytes;

    while (size) {
        ssize_t written = pwrite(self->fd, at, size, (off_t) self->size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return refuse(self, errno, fault);
        at += written;
        size -= (size_t) written;
        self->size += (uint64_t) written;
    }
    return 0;
}

int writer_skip(writer_t *self, uint64_t size, fault_t *fault)
{
    if (size > INT64_MAX - self->size)
        return refuse(self, EFBIG, fault);
    if (ftruncate(self->fd, (off_t) (self->size + size)) < 0)
        return refuse(self, errno, fault);
    self->size += size;
    return 0;
}

/* Gives the file a name: its own if nothing may be replaced, else a temporary
 * one beside it. */
static int link_file(writer_t *self, fault_t *fault)
{
    char link[64];

    (void) snprintf(link, sizeof link, "/proc/self/fd/%d", self->fd);
    if (!self->replaces)
        return linkat(AT_FDCWD, link, self->folder, self->name,
                      AT_SYMLINK_FOLLOW)
                       < 0
                   ? refuse(self, errno, fault)
                   : 0;
    for (int i = 0; i < NAME_TRIES; i++) {
        choose_name(self);
        if (linkat(AT_FDCWD, link, self->folder, self->temporary,
                   AT_SYMLINK_FOLLOW)
            == 0)
            return 0;
        self->temporary[0] = '\0';
        if (errno != EEXIST)
            break;
    }
    return refuse(self, errno, fault);
}

/* Checks that the file is still the same one: the session can reach it if it
 * has a name. */
static int check_temporary(const writer_t *self, fault_t *fault)
{
    struct stat ours, there;

    if (fstat(self->fd, &ours) < 0
        || fstatat(self->folder, self->temporary, &there, AT_SYMLINK_NOFOLLOW)
               < 0)
        return refuse(self, errno, fault);
    if (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino
        || ours.st_nlink != 1 || (uint64_t) ours.st_size != self->size)
        return fault_set(fault, ESTALE,
                         "the session meddled with the file on its way");
    return 0;
}

/* Notes how much room the replaced file frees: none if it has another name. */
static void look_at_old(writer_t *self)
{
    struct stat old;

    if (fstatat(self->folder, self->name, &old, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    self->replaced.files = 1;
    if (old.st_nlink == 1)
        self->replaced.bytes = usage_on_disk(&old);
}

int writer_commit(writer_t *self, fault_t *fault)
{
    int r;

    look_at_old(self);
    if (!self->temporary[0]) {
        r = link_file(self, fault);
        if (r < 0 || !self->temporary[0])
            return r;
    }
    r = check_temporary(self, fault);
    if (r < 0)
        return r;
    if (renameat2(self->folder, self->temporary, self->folder, self->name,
                  self->replaces ? 0 : RENAME_NOREPLACE)
        < 0)
        return refuse(self, errno, fault);
    self->temporary[0] = '\0';
    return 0;
}

usage_t writer_replaced(const writer_t *self)
{
    return self->replaced;
}
