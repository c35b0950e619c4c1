/* See beneath.h. Owns nothing between calls; any thread. The kernel does the
 * checking (RESOLVE_BENEATH and its companions), because whatever we looked at
 * before could be something else by then. */
#include "workspace/beneath.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "base/fd.h"
#include "workspace/name.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *reason(int code)
{
    switch (code) {
    case ELOOP:
        return "a symbolic link is in the way; it is not followed";
    case EXDEV:
        return "it leads out of the workspace";
    case ETIMEDOUT:
        return "a part of it was removed; ask again to remove the rest";
    case ENOSYS:
        return "this kernel has no openat2 (Linux 5.6)";
    default:
        return strerror(code);
    }
}

/* Makes the fault's sentence for a path, which is escaped. */
static int refuse(fault_t *fault, int code, const char *path)
{
    cleanup_free char *text = name_text(path);

    return fault_set(fault, code, "%.150s: %s", *text ? text : ".",
                     reason(code));
}

int beneath_root(const char *folder, int *ret_fd, fault_t *fault)
{
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return fault_set(fault, errno, "the workspace %.150s: %s", folder,
                         strerror(errno));
    *ret_fd = fd;
    return 0;
}

static int open_beneath(int root, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        /* openat2 refuses flags that mean nothing beside O_PATH. */
        .flags =
            (unsigned) (flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY)),
        .mode = flags & (O_CREAT | O_TMPFILE) & ~O_DIRECTORY ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
                   | RESOLVE_NO_XDEV,
    };
    long fd;

    /* EAGAIN: a process renamed a folder on the way, so the kernel could not be
     * sure and asks to try again. After several attempts the error is returned.
     */
    for (int i = 0; i < 16; i++) {
        fd = syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd < 0 ? -errno : (int) fd;
}

int beneath_open(int root, const char *path, int flags, mode_t mode,
                 int *ret_fd, fault_t *fault)
{
    int fd = open_beneath(root, path, flags, mode);

    if (fd < 0)
        return refuse(fault, -fd, path);
    *ret_fd = fd;
    return 0;
}

int beneath_folder(int root, const char *path, int *ret_fd, fault_t *fault)
{
    return beneath_open(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0,
                        ret_fd, fault);
}

int beneath_parent(int root, const char *path, int *ret_fd,
                   const char **ret_name, fault_t *fault)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *folder =
        mem_copy(path, slash ? (size_t) (slash - path) : 0);
    int r;

    if (!*path)
        return fault_set(fault, EINVAL,
                         "the workspace itself cannot be changed, only what "
                         "is in it");
    r = beneath_open(root, folder, O_PATH | O_DIRECTORY, 0, ret_fd, fault);
    if (r < 0)
        return r;
    *ret_name = slash ? slash + 1 : path;
    return 0;
}

static int check_file(const struct stat *status, const char *path,
                      fault_t *fault)
{
    cleanup_free char *text = NULL;

    if (S_ISREG(status->st_mode) && status->st_nlink == 1)
        return 0;
    if (S_ISLNK(status->st_mode))
        return refuse(fault, ELOOP, path);
    if (S_ISDIR(status->st_mode))
        return refuse(fault, EISDIR, path);
    text = name_text(path);
    if (S_ISREG(status->st_mode))
        return fault_set(fault, EMLINK,
                         "%.150s has %lu links (hard links are not followed); "
                         "copy it within the session first",
                         text, (unsigned long) status->st_nlink);
    return fault_set(fault, EINVAL,
                     "%.150s is not a regular file, only those can be copied",
                     text);
}

/* Opens first only the place in the tree, then exactly that file by the link
 * that /proc has for it. O_PATH opens nothing: no FIFO waits, no device wakes
 * up. */
int beneath_file(int root, const char *path, int *ret_fd,
                 struct stat *ret_status, fault_t *fault)
{
    cleanup_fd int place = -1, fd = -1;
    struct stat status;
    char link[64];
    int r;

    /* O_NOFOLLOW opens a link itself, so that the error can name it as a
     * link. */
    r = beneath_open(root, path, O_PATH | O_NOFOLLOW, 0, &place, fault);
    if (r < 0)
        return r;
    if (fstat(place, &status) < 0)
        return refuse(fault, errno, path);
    r = check_file(&status, path, fault);
    if (r < 0)
        return r;
    (void) snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret_status) < 0)
        return refuse(fault, errno, path);
    r = check_file(ret_status, path, fault);
    if (r < 0)
        return r;
    *ret_fd = take_fd(&fd);
    return 0;
}

int beneath_stat(int root, const char *path, struct stat *ret_status,
                 fault_t *fault)
{
    cleanup_fd int parent = -1;
    const char *name = "";
    int r;

    if (!*path)
        return fstat(root, ret_status) < 0 ? refuse(fault, errno, path) : 0;
    r = beneath_parent(root, path, &parent, &name, fault);
    if (r < 0)
        return r;
    if (fstatat(parent, name, ret_status, AT_SYMLINK_NOFOLLOW) < 0)
        return refuse(fault, errno, path);
    return 0;
}

int beneath_give(int root, int fd, fault_t *fault)
{
    struct stat owner;

    if (!capability_gives_users())
        return 0;
    if (fstat(root, &owner) < 0)
        return fault_set(fault, errno, "the owner of the workspace: %s",
                         strerror(errno));
    if (owner.st_uid == geteuid())
        return 0;
    /* EINVAL: the owner of the folder is not mapped in this namespace. */
    if (fchownat(fd, "", owner.st_uid, owner.st_gid, AT_EMPTY_PATH) < 0
        && errno != EINVAL)
        return fault_set(fault, errno, "give a file to the session's user: %s",
                         strerror(errno));
    return 0;
}

static int make_one(int root, const char *path, bool may_exist, fault_t *fault)
{
    cleanup_fd int parent = -1, made = -1;
    const char *name;
    int r = beneath_parent(root, path, &parent, &name, fault);

    if (r < 0)
        return r;
    if (mkdirat(parent, name, 0755) < 0) {
        int code = errno;
        struct stat status;

        if (code == EEXIST && may_exist
            && fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0
            && S_ISDIR(status.st_mode))
            return 0;
        return refuse(fault, code, path);
    }
    r = beneath_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, &made,
                     fault);
    return r < 0 ? r : beneath_give(root, made, fault);
}

int beneath_make_folder(int root, const char *path, bool with_parents,
                        fault_t *fault)
{
    if (!*path && with_parents)
        return 0;
    for (const char *slash = path; with_parents && (slash = strchr(slash, '/'));
         slash++) {
        cleanup_free char *above = mem_copy(path, (size_t) (slash - path));
        int r = make_one(root, above, true, fault);

        if (r < 0)
            return r;
    }
    return make_one(root, path, with_parents, fault);
}

int beneath_remove(int root, const char *path, bool recursive, int limit_ms,
                   fault_t *fault)
{
    cleanup_fd int parent = -1;
    const char *name;
    cleanup_free char *whole = NULL;
    int r = beneath_parent(root, path, &parent, &name, fault);

    if (r < 0)
        return r;
    if (unlinkat(parent, name, 0) == 0)
        return 0;
    if (errno != EISDIR)
        return refuse(fault, errno, path);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY || !recursive)
        return refuse(fault, errno, path);
    whole = mem_format("/proc/self/fd/%d/%s", parent, name);
    r = path_remove_tree_within(whole, limit_ms, fault);
    return r < 0 ? refuse(fault, -r, path) : 0;
}

int beneath_rename(int root, const char *from, const char *to, bool replaces,
                   fault_t *fault)
{
    cleanup_fd int from_parent = -1, to_parent = -1;
    const char *from_name, *to_name;
    int r;

    if ((r = beneath_parent(root, from, &from_parent, &from_name, fault)) < 0
        || (r = beneath_parent(root, to, &to_parent, &to_name, fault)) < 0)
        return r;
    if (renameat2(from_parent, from_name, to_parent, to_name,
                  replaces ? 0 : RENAME_NOREPLACE)
        < 0)
        return refuse(fault, errno, errno == ENOENT ? from : to);
    return 0;
}
