/* Removes a folder with everything in it, whatever untrusted code left there:
 * folders without permissions, links to elsewhere, nesting far deeper than a
 * path can name. No recursion and two open folders at most: a folder's own
 * folders are first moved up to the top ("lifted"), where they wait as its
 * neighbours. */
#include "base/clock.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void close_folder(DIR **folder_p)
{
    if (*folder_p != NULL)
        closedir(*folder_p);
    *folder_p = NULL;
}

#define cleanup_folder CLEANUP(close_folder)

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

/* 0: gone; 1: a folder that is not empty; -1 with errno. */
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
    cleanup_folder DIR *writable = open_folder(parent, name);
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

/* Returns true if the time is up: processes that still run there may create
 * files faster than they are removed. */
static bool is_over(int64_t deadline)
{
    if (deadline == 0 || clock_monotonic_ms() < deadline)
        return false;
    errno = ETIMEDOUT;
    return true;
}

/* Removes everything from one folder of the top; its folders are lifted. */
static int flatten(DIR *top, const char *name, unsigned long *number,
                   int64_t deadline)
{
    cleanup_folder DIR *folder = open_folder(dirfd(top), name);
    if (folder == NULL)
        return -1;
    bool is_empty;
    do {
        is_empty = true;
        const char *inner;
        while ((inner = next_name(folder)) != NULL) {
            is_empty = false;
            int r = is_over(deadline) ? -1 : remove_entry(dirfd(folder), inner);
            if (r < 0
                || (r > 0
                    && lift(dirfd(folder), inner, dirfd(top), number) < 0))
                return -1;
        }
        rewinddir(folder);
    } while (!is_empty);
    return unlinkat(dirfd(top), name, AT_REMOVEDIR);
}

static int empty(DIR *top, int64_t deadline)
{
    unsigned long number = 0;
    bool is_empty;
    do {
        is_empty = true;
        const char *name;
        while ((name = next_name(top)) != NULL) {
            is_empty = false;
            int r = is_over(deadline) ? -1 : remove_entry(dirfd(top), name);
            if (r < 0 || (r > 0 && flatten(top, name, &number, deadline) < 0))
                return -1;
        }
        /* New folders may be at the top: those that were moved up since the
         * last look. */
        rewinddir(top);
    } while (!is_empty);
    return 0;
}

int path_remove_tree(const char *path, fault_t *fault)
{
    return path_remove_tree_within(path, 0, fault);
}

int path_remove_tree_within(const char *path, int limit_ms, fault_t *fault)
{
    int64_t deadline = limit_ms > 0 ? clock_monotonic_ms() + limit_ms : 0;
    int r = remove_entry(AT_FDCWD, path);
    if (r > 0) {
        cleanup_folder DIR *top = open_folder(AT_FDCWD, path);
        r = top != NULL ? empty(top, deadline) : -1;
    }
    if (r == 0 && (rmdir(path) == 0 || errno == ENOENT))
        return 0;
    return fault_set(fault, errno, "remove %s: %s", path, strerror(errno));
}
