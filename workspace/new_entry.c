/* See new_entry.h. Owns nothing between calls; any thread. What is made is the
 * caller's until it is given to the owner, by the descriptor that was looked
 * at. */
#include "workspace/new_entry.h"

#include "base/capability.h"
#include "base/cleanup.h"
#include "workspace/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Sets the mode, of which the umask took some, and the owner. */
static int settle(int root, int fd, mode_t mode, fault_t *fault)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return fault_errno(fault, "what was made");
    if ((status.st_mode & S_IFMT) != (mode & S_IFMT)
        || (capability_gives_users() && status.st_uid != geteuid()))
        return fault_set(fault, ESTALE,
                         "the session put something else in its place");
    if (!S_ISLNK(mode) && fchmod(fd, mode & 0777) < 0)
        return fault_errno(fault, "its mode");
    return beneath_give(root, fd, fault);
}

int new_entry_folder(int root, int parent, const char *name, int *ret_fd,
                     fault_t *fault)
{
    cleanup_fd int fd = -1;
    int r;

    if (mkdirat(parent, name, 0700) < 0)
        return fault_errno(fault, "make a folder");
    if ((r = beneath_open(parent, name,
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0,
                          &fd, fault))
            < 0
        || (r = settle(root, fd, S_IFDIR | 0755, fault)) < 0)
        return r;
    *ret_fd = take_fd(&fd);
    return 0;
}

int new_entry_link(int root, int parent, const char *name, const char *target,
                   fault_t *fault)
{
    cleanup_fd int fd = -1;
    int r;

    if (symlinkat(target, parent, name) < 0)
        return fault_errno(fault, "make a link");
    r = beneath_open(parent, name, O_PATH | O_NOFOLLOW, 0, &fd, fault);
    return r < 0 ? r : settle(root, fd, S_IFLNK, fault);
}

int new_entry_file(int root, int parent, const char *name, mode_t mode,
                   int *ret_fd, fault_t *fault)
{
    cleanup_fd int fd = -1;
    int r = beneath_open(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                         mode, &fd, fault);

    if (r < 0 || (r = settle(root, fd, S_IFREG | mode, fault)) < 0)
        return r;
    *ret_fd = take_fd(&fd);
    return 0;
}
