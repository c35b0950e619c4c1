/* See jupyter_folder.h. Every file is reached by the folder's descriptor and by
 * its plain name, without following a link. Owned by discovery.c; used by the
 * main thread. */
#include "gateway/discovery/jupyter_folder.h"

#include "base/fd.h"
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

#define OTHERS_WRITE 022

struct jupyter_folder {
    int fd;                         /* owned */
    char *path;                     /* owned; for messages */
    char mark[JUPYTER_FOLDER_MARK]; /* of files that are this writer's */
    char beside[64];                /* the file that is being written */
};

/* The beginnings of names that Jupyter's programs look for. */
static const char *const beginnings[] = {"jpserver-", "kernel-"};

/* ---- the folder ---- */

static bool is_own(const struct stat *about)
{
    return about->st_uid == geteuid();
}

/* Looks at one place of the path, whose owner decides what is there. */
static int check_place(const char *place, fault_t *fault)
{
    struct stat about;

    if (lstat(place, &about) < 0)
        return fault_set(fault, errno, "%s: %s", place, strerror(errno));
    if (about.st_uid != 0 && !is_own(&about))
        return fault_set(fault, EPERM,
                         "%s belongs to user %u, who could put another folder "
                         "there; choose a folder of this user",
                         place, about.st_uid);
    return 0;
}

static int check_path(const char *path, fault_t *fault)
{
    cleanup_free char *partial = mem_text(path);
    int r = 0;

    for (char *end = partial; r == 0 && *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char kept = *end;
        *end = '\0';
        r = check_place(partial, fault);
        *end = kept;
    }
    return r;
}

static int check_folder(const char *path, const struct stat *about,
                        fault_t *fault)
{
    if (!S_ISDIR(about->st_mode))
        return fault_set(fault, ENOTDIR, "%s is not a folder", path);
    if (!is_own(about))
        return fault_set(fault, EPERM, "%s belongs to user %u, not to this one",
                         path, about->st_uid);
    if (about->st_mode & OTHERS_WRITE)
        return fault_set(fault, EPERM,
                         "%s can be written by others; run `chmod 700 %s`",
                         path, path);
    return 0;
}

static int open_checked(const char *path, int *ret_fd, fault_t *fault)
{
    struct stat about;
    int r = check_path(path, fault);

    if (r < 0)
        return r;
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    if ((r = check_folder(path, &about, fault)) < 0)
        return r;
    *ret_fd = take_fd(&fd);
    return 0;
}

int jupyter_folder_check(const char *path, fault_t *fault)
{
    cleanup_fd int fd = -1;

    return open_checked(path, &fd, fault);
}

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

/* Makes what is missing, unless another user could decide where that is. */
static int make_folder(const char *path, fault_t *fault)
{
    int r = check_path(path, fault);

    return r == -ENOENT ? path_make_folders(path, 0700, fault) : r;
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
    /* The dot hides it from programs that look for files. No other process has
     * this mark, so what a killed one has left is replaced. */
    snprintf(self->beside, sizeof self->beside, ".hearth-%s.new", mark);
    if (makes && (r = make_folder(path, fault)) < 0)
        return r;
    if ((r = open_checked(path, &self->fd, fault)) < 0)
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
        || !is_own(&about) || about.st_size > CONNECTION_FILE_MAX)
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
    if (fchmod(fd, 0600) < 0) /* a umask may have taken something */
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

static void close_folder(DIR **folder_p)
{
    if (*folder_p)
        closedir(*folder_p);
}

int jupyter_folder_sweep(const jupyter_folder_t *self, fault_t *fault)
{
    cleanup_fd int fd =
        openat(self->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_folder) DIR *folder = fd < 0 ? NULL : fdopendir(fd);
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
