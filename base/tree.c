/* See tree.h, and path_remove_tree of fd.h: whatever untrusted code left there,
 * folders without permissions, links to elsewhere, nesting far deeper than a
 * path can name. No recursion and two open folders at most: a folder's own
 * folders are first moved up to the top ("lifted"), where they wait as its
 * neighbours. */
#include "base/tree.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ENTRIES 16 /* between two looks at the clock */

struct tree_removal {
    DIR *top;             /* owned */
    DIR *inner;           /* owned; a folder of the top, or NULL */
    char name[256];       /* of `inner`, in the top */
    unsigned long number; /* of the last name of a lifted folder */
    bool is_empty;        /* nothing was found since the last look began */
};

/* Opens the folder itself, never what a link points to, after giving its
 * owner all rights. O_PATH needs none; the way through /proc changes exactly
 * the folder that was opened. */
static DIR *open_folder(int parent, const char *name)
{
    cleanup_fd int self =
        openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (self < 0 || fstat(self, &status) < 0)
        return NULL;
    if ((status.st_mode & S_IRWXU) != S_IRWXU) {
        char link[64];
        (void) snprintf(link, sizeof link, "/proc/self/fd/%d", self);
        if (chmod(link, 0700) < 0)
            return NULL;
    }
    cleanup_fd int fd = openat(self, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *folder = fdopendir(fd);
    if (folder != NULL)
        (void) take_fd(&fd);
    return folder;
}

/* Removes a file or an empty folder. Returns 0 if it is gone, 1 if it is a
 * folder that is not empty, -1 with errno. */
static int remove_entry(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return -1;
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return errno == ENOTEMPTY || errno == EEXIST ? 1 : -1;
}

/* Moves `name` up to the top under a name that is free there. */
static int lift(int parent, const char *name, int top, unsigned long *number)
{
    /* Without the right to write in it, it may not change its "..". */
    cleanup_dir DIR *writable = open_folder(parent, name);
    if (writable == NULL)
        return -1;
    for (;;) {
        char lifted[40];
        (void) snprintf(lifted, sizeof lifted, ".removed-%lu", ++*number);
        if (renameat(parent, name, top, lifted) == 0)
            return 0;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return -1;
    }
}

static const char *next_name(DIR *folder)
{
    const struct dirent *entry;
    do
        entry = readdir(folder);
    while (entry != NULL
           && (strcmp(entry->d_name, ".") == 0
               || strcmp(entry->d_name, "..") == 0));
    return entry != NULL ? entry->d_name : NULL;
}

void tree_removal_destroy(tree_removal_t **self_p)
{
    tree_removal_t *self = *self_p;

    if (!self)
        return;
    cleanup_dir_p(&self->inner);
    cleanup_dir_p(&self->top);
    free(self);
    *self_p = NULL;
}

static int begin(int parent, const char *path, tree_removal_t **ret_removal)
{
    cleanup_tree_removal tree_removal_t *self = mem_new(sizeof *self);

    self->top = open_folder(parent, path);
    if (!self->top)
        return -1;
    self->is_empty = true;
    *ret_removal = take_ptr(self);
    return 0;
}

int tree_removal_new(int folder, tree_removal_t **ret_removal, fault_t *fault)
{
    return begin(folder, ".", ret_removal) < 0
               ? fault_errno(fault, "open a folder to empty it")
               : 0;
}

/* Returns true if another process removed or replaced what was found. */
static bool is_gone(void)
{
    return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

/* Takes a folder that is not empty: one of the top is emptied next, any other
 * is lifted there. */
static int descend(tree_removal_t *self, const char *name)
{
    if (self->inner)
        return lift(dirfd(self->inner), name, dirfd(self->top), &self->number);
    self->inner = open_folder(dirfd(self->top), name);
    if (!self->inner)
        return -1;
    (void) snprintf(self->name, sizeof self->name, "%s", name);
    self->is_empty = true;
    return 0;
}

/* Goes on at the end of a folder. New ones may be at the top: those that were
 * lifted since the last look. Returns 1 if the top is empty. */
static int turn(tree_removal_t *self)
{
    if (!self->is_empty) {
        rewinddir(self->inner ? self->inner : self->top);
        self->is_empty = true;
        return 0;
    }
    if (!self->inner)
        return 1;
    cleanup_dir_p(&self->inner);
    self->is_empty = false;
    /* Not empty again, because a process still works there: it is found at the
     * next look. */
    if (unlinkat(dirfd(self->top), self->name, AT_REMOVEDIR) == 0 || is_gone()
        || errno == ENOTEMPTY || errno == EEXIST)
        return 0;
    return -1;
}

static int step(tree_removal_t *self)
{
    DIR *folder = self->inner ? self->inner : self->top;
    const char *name = next_name(folder);
    int r;

    if (!name)
        return turn(self);
    self->is_empty = false;
    r = remove_entry(dirfd(folder), name);
    if (r > 0)
        r = descend(self, name);
    return r < 0 && is_gone() ? 0 : r;
}

/* Removes entries as tree_removal_step does; errno says what failed. */
static int run(tree_removal_t *self, unsigned entries)
{
    int r = 0;

    while (r == 0 && entries--)
        r = step(self);
    return r;
}

int tree_removal_step(tree_removal_t *self, unsigned entries, fault_t *fault)
{
    int r = run(self, entries);

    return r < 0 ? fault_errno(fault, "empty a folder") : r;
}

/* Returns true if the time is up: processes that still run there may create
 * files faster than they are removed. */
static bool is_over(int64_t deadline)
{
    if (deadline == 0 || clock_monotonic_ms() < deadline)
        return false;
    errno = ETIMEDOUT;
    return true;
}

static int empty(const char *path, int64_t deadline)
{
    cleanup_tree_removal tree_removal_t *removal = NULL;
    int r = begin(AT_FDCWD, path, &removal);

    while (r == 0)
        r = is_over(deadline) ? -1 : run(removal, ENTRIES);
    return r < 0 ? -1 : 0;
}

int path_remove_tree(const char *path, fault_t *fault)
{
    return path_remove_tree_within(path, 0, fault);
}

int path_remove_tree_within(const char *path, int limit_ms, fault_t *fault)
{
    int64_t deadline = limit_ms > 0 ? clock_monotonic_ms() + limit_ms : 0;
    int r = remove_entry(AT_FDCWD, path);
    if (r > 0)
        r = empty(path, deadline);
    if (r == 0 && (rmdir(path) == 0 || errno == ENOENT))
        return 0;
    return fault_set(fault, errno, "remove %s: %s", path, strerror(errno));
}
