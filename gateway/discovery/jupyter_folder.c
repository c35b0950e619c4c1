/* See jupyter_folder.h. Every file is reached by the folder's descriptor and by
 * its plain name, without following a link. Owned by discovery.c; used by the
 * main thread. */
#include "gateway/discovery/jupyter_folder.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "gateway/discovery/private_folder.h"
#include "protocol/jspan.h"
#include "protocol/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct jupyter_folder {
    int fd;                         /* owned */
    char *path;                     /* owned; for messages */
    char mark[JUPYTER_FOLDER_MARK]; /* of files that are this writer's */
    char beside[64];                /* the file that is being written */
};

/* The beginnings of names that Jupyter's programs look for. */
static const char *const beginnings[] = {"jpserver-", "kernel-"};

void jupyter_folder_destroy(jupyter_folder_t **self_p)
{
    jupyter_folder_t *self = *self_p;

    if (!self)
        return;
    if (self->fd >= 0)
        close(self->fd);
    free(self->path);
    free(self);
    *self_p = NULL;
}

int jupyter_folder_open(const char *path, const char mark[JUPYTER_FOLDER_MARK],
                        bool makes, jupyter_folder_t **ret_folder,
                        fault_t *fault)
{
    cleanup_jupyter_folder jupyter_folder_t *self = mem_new(sizeof *self);
    int r;

    self->fd = -1;
    self->path = mem_text(path);
    snprintf(self->mark, sizeof self->mark, "%s", mark);
    /* The dot hides it from programs that look for files. Only this process has
     * the mark, so a file that a killed one has left is replaced. */
    snprintf(self->beside, sizeof self->beside, ".hearth-%s.new", mark);
    r = private_folder_open(path, makes, &self->fd, fault);
    if (r < 0)
        return r;
    *ret_folder = take_ptr(self);
    return 0;
}

bool jupyter_folder_has(const jupyter_folder_t *self, const char *path)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *above =
        slash ? mem_copy(path, (size_t) (slash - path) + 1) : mem_text(".");
    struct stat one, other;

    return stat(above, &one) == 0 && fstat(self->fd, &other) == 0
           && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* ---- whose a file is ---- */

/* Reads a plain file of this user; false if it is something else. */
static bool read_plain(const jupyter_folder_t *self, const char *name,
                       buffer_t *text)
{
    cleanup_fd int fd =
        openat(self->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat about;
    ssize_t got;

    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode)
        || about.st_uid != geteuid() || about.st_size > CONNECTION_FILE_MAX)
        return false;
    buffer_reserve(text, CONNECTION_FILE_MAX);
    while ((got = read(fd, text->data + text->size,
                       CONNECTION_FILE_MAX - text->size))
           > 0)
        text->size += (size_t) got;
    return got == 0;
}

static bool has_mark(const jupyter_folder_t *self, const char *name)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    bool is_marked = false;
    jspan_t object;
    fault_t fault;

    if (read_plain(self, name, &text)
        && jspan_check(text.data, text.size, &object, &fault) == 0) {
        jspan_t mark = jspan_member(object, JUPYTER_FOLDER_MEMBER);

        is_marked =
            jspan_is(mark, JSPAN_STRING) && jspan_text_equals(mark, self->mark);
    }
    if (text.data) /* others' keys and tokens are read, too */
        explicit_bzero(text.data, text.capacity);
    return is_marked;
}

/* ---- writing ---- */

static int write_beside(const jupyter_folder_t *self, const buffer_t *text,
                        fault_t *fault)
{
    (void) unlinkat(self->fd, self->beside, 0);
    cleanup_fd int fd =
        openat(self->fd, self->beside,
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fault_set(fault, errno, "make a file: %s", strerror(errno));
    if (fchmod(fd, 0600) < 0) /* the umask may have removed bits */
        return fault_set(fault, errno, "chmod: %s", strerror(errno));
    return fd_write_all(fd, text->data, text->size, fault);
}

/* Gives the file its name if no file has it. File systems that cannot do this
 * by a rename, such as NFS, can by a second name. */
static int give_free_name(const jupyter_folder_t *self, const char *name)
{
    if (renameat2(self->fd, self->beside, self->fd, name, RENAME_NOREPLACE)
        == 0)
        return 0;
    if (errno != EINVAL)
        return -errno;
    if (linkat(self->fd, self->beside, self->fd, name, 0) < 0)
        return -errno;
    (void) unlinkat(self->fd, self->beside, 0);
    return 0;
}

static int give_name(const jupyter_folder_t *self, const char *name,
                     fault_t *fault)
{
    int r = give_free_name(self, name);

    if (r == -EEXIST && !has_mark(self, name))
        return fault_set(fault, EEXIST, "another program has put it there");
    if (r == -EEXIST)
        r = renameat(self->fd, self->beside, self->fd, name) < 0 ? -errno : 0;
    return r < 0 ? fault_set(fault, -r, "%s", strerror(-r)) : 0;
}

int jupyter_folder_write(const jupyter_folder_t *self, const char *name,
                         buffer_t *object, fault_t *fault)
{
    int r;

    jspan_write_text(object, JUPYTER_FOLDER_MEMBER, self->mark);
    jspan_write_end(object);
    buffer_text(object, "\n");
    if ((r = write_beside(self, object, fault)) < 0
        || (r = give_name(self, name, fault)) < 0) {
        (void) unlinkat(self->fd, self->beside, 0);
        return fault_wrap(fault, "write %s/%s", self->path, name);
    }
    return 0;
}

/* ---- removing ---- */

int jupyter_folder_remove(const jupyter_folder_t *self, const char *name,
                          fault_t *fault)
{
    if (!has_mark(self, name) || unlinkat(self->fd, name, 0) == 0
        || errno == ENOENT)
        return 0;
    return fault_set(fault, errno, "remove %s/%s: %s", self->path, name,
                     strerror(errno));
}

static bool is_found_by_jupyter(const char *name)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

int jupyter_folder_sweep(const jupyter_folder_t *self, fault_t *fault)
{
    cleanup_fd int fd =
        openat(self->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *item;
    int removed = 0, r = 0;

    if (!folder)
        return fault_set(fault, errno, "list %s: %s", self->path,
                         strerror(errno));
    (void) take_fd(&fd); /* the listing's */
    (void) unlinkat(self->fd, self->beside, 0);
    while ((item = readdir(folder)))
        if (is_found_by_jupyter(item->d_name) && has_mark(self, item->d_name)) {
            if (unlinkat(self->fd, item->d_name, 0) == 0)
                removed++;
            else if (errno != ENOENT)
                r = fault_set(fault, errno, "remove %s/%s: %s", self->path,
                              item->d_name, strerror(errno));
        }
    return r < 0 ? r : removed;
}
