/* See mount_tree.h. */
#include "sandbox/launch/mount_tree.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

int mount_tree_restrict(int fd, uint64_t attributes, unsigned flags,
                        const char *what, fault_t *fault)
{
    struct mount_attr change = {.attr_set = attributes};

    if (mount_setattr(fd, "", AT_EMPTY_PATH | flags, &change, sizeof change)
        < 0)
        return fault_errno(fault, what);
    return 0;
}

int mount_tree_clone(int folder, const char *path, int *ret_fd, fault_t *fault)
{
    int fd =
        open_tree(folder, path,
                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
                      | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
    const char *name = *path ? path : "the workspace";

    /* The caller takes ESTALE for an outdated description and would make a
     * fresh one, which does not help here. */
    if (fd < 0 && errno == ESTALE)
        return fault_set(fault, EIO,
                         "%s: its file system has lost it (%s): mount it again",
                         name, strerror(ESTALE));
    if (fd < 0)
        return fault_errno(fault, name);
    *ret_fd = fd;
    return 0;
}

int mount_tree_make(const char *kind, const mount_option_t *options,
                    unsigned attributes, int *ret_fd, fault_t *fault)
{
    cleanup_fd int context = fsopen(kind, FSOPEN_CLOEXEC);
    int fd;

    if (context < 0)
        return fault_errno(fault, kind);
    for (; options->name != NULL; options++)
        if (fsconfig(context, FSCONFIG_SET_STRING, options->name,
                     options->value, 0)
            < 0)
            return fault_errno(fault, options->name);
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return fault_errno(fault, kind);
    fd = fsmount(context, FSMOUNT_CLOEXEC, attributes);
    if (fd < 0)
        return fault_errno(fault, kind);
    *ret_fd = fd;
    return 0;
}

int mount_tree_attach(int root, int tree, const char *path, fault_t *fault)
{
    if (move_mount(tree, "", root, path + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return fault_errno(fault, path);
    return 0;
}
