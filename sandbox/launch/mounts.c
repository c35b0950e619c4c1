/* The private root: an empty tmpfs that gets its own /dev, /proc, /etc and
 * /tmp, the sources of the description read-only, and the workspace. Runs in
 * the child, as steps, by descriptors: the new mount API attaches trees that
 * were cloned before. So no path of the host is walked with the session's
 * identity, which may lack the right to. The old root is detached at the end.
 *
 * A descriptor from another mount namespace cannot be cloned. So sources are
 * cloned by path, and compared with what the caller had opened. The workspace
 * is cloned as the working directory. */
#include "sandbox/launch/mounts.h"
#include "sandbox/launch/mount_tree.h"
#include "sandbox/launch/root_files.h"
#include "sandbox/policy/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOT_BYTES  "4M" /* our own small files and mount points */
#define ROOT_INODES "4096"
#define TMP_INODES  "65536"
#define PTYS_MAX    "64" /* the host's pool has 4096 for everybody */

#define PLAIN  (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define DEVICE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

static const char *const devices[DEVICES] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

/* Clones a tree like mount_tree_clone if the path still leads to that file or
 * folder. */
static int clone_same(const bind_source_t *source, int *ret_fd, fault_t *fault)
{
    cleanup_fd int fd = -1;
    struct stat found;
    int r;

    if ((r = mount_tree_clone(AT_FDCWD, source->path, &fd, fault)) < 0)
        return r;
    if (fstat(fd, &found) < 0)
        return fault_errno(fault, source->path);
    if (found.st_dev != source->device || found.st_ino != source->inode)
        return fault_set(fault, ESTALE, "%s is not what it was any more",
                         source->path);
    *ret_fd = take_fd(&fd);
    return 0;
}

static int make_tmpfs(const launch_entry_t *entry, const char *path,
                      uint64_t bytes, fault_t *fault)
{
    char size[32];
    const mount_option_t options[] = {{"size", size},
                                      {"nr_inodes", TMP_INODES},
                                      {"mode", "1777"},
                                      {NULL, NULL}};
    cleanup_fd int fd = -1;
    int r;

    snprintf(size, sizeof size, "%llu", (unsigned long long) bytes);
    if ((r = mount_tree_make("tmpfs", options, PLAIN, &fd, fault)) < 0)
        return r;
    return mount_tree_attach(entry->root_fd, fd, path, fault);
}

static int clone_sources(launch_entry_t *entry, fault_t *fault)
{
    const mounts_t *mounts = &entry->sandbox->mounts;
    int r;

    for (size_t i = 0; i < mounts->source_count; i++)
        if ((r = clone_same(&mounts->sources[i], &entry->tree_fds[i], fault))
            < 0)
            return r;
    return 0;
}

static int clone_devices(launch_entry_t *entry, fault_t *fault)
{
    int r;

    for (size_t i = 0; i < DEVICES; i++)
        if ((r = mount_tree_clone(AT_FDCWD, devices[i], &entry->device_fds[i],
                                  fault))
                < 0
            || (r = mount_tree_restrict(entry->device_fds[i], DEVICE,
                                        AT_RECURSIVE, devices[i], fault))
                   < 0)
            return r;
    return 0;
}

static int clone_workspace(launch_entry_t *entry, fault_t *fault)
{
    int r;

    if ((r = mount_tree_clone(AT_FDCWD, "", &entry->workspace_tree_fd, fault))
        < 0)
        return r;
    return mount_tree_restrict(entry->workspace_tree_fd, PLAIN, AT_RECURSIVE,
                               "the workspace", fault);
}

int mounts_open_sources(launch_entry_t *entry, fault_t *fault)
{
    int r;

    /* Mounts made inside must not appear outside, and new ones outside must not
     * appear inside. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return fault_errno(fault,
                           errno == EACCES || errno == EPERM
                               ? "make all mounts private (does AppArmor "
                                 "restrict user namespaces here?)"
                               : "make all mounts private");
    if ((r = clone_sources(entry, fault)) < 0
        || (r = clone_devices(entry, fault)) < 0)
        return r;
    return clone_workspace(entry, fault);
}

int mounts_make_root(launch_entry_t *entry, fault_t *fault)
{
    static const mount_option_t options[] = {{"size", ROOT_BYTES},
                                             {"nr_inodes", ROOT_INODES},
                                             {"mode", "0755"},
                                             {NULL, NULL}};
    int r;

    if ((r = mount_tree_make("tmpfs", options, PLAIN, &entry->root_fd, fault))
        < 0)
        return r;
    /* Attached over the old root, which stays in use until pivot_root: a tree
     * must be attached before others can be attached to it. */
    if (move_mount(entry->root_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH)
        < 0)
        return fault_errno(fault, "attach");
    return 0;
}

int mounts_make_folders(launch_entry_t *entry, fault_t *fault)
{
    int r = root_files_make(entry->root_fd, entry->sandbox->mounts.cpus_online,
                            fault);

    for (size_t i = 0; i < DEVICES && r == 0; i++)
        r = root_files_add_place(entry->root_fd, devices[i], false, fault);
    return r;
}

int mounts_make_tmp(launch_entry_t *entry, fault_t *fault)
{
    return make_tmpfs(entry, "/tmp", entry->limits.tmp, fault);
}

int mounts_make_devices(launch_entry_t *entry, fault_t *fault)
{
    static const mount_option_t options[] = {{"ptmxmode", "0666"},
                                             {"mode", "0620"},
                                             {"max", PTYS_MAX},
                                             {NULL, NULL}};
    cleanup_fd int terminals = -1;
    int r;

    for (size_t i = 0; i < DEVICES; i++)
        if ((r = mount_tree_attach(entry->root_fd, entry->device_fds[i],
                                   devices[i], fault))
            < 0)
            return r;
    /* A pool of terminals of its own, for `!command` and pexpect. */
    if ((r = mount_tree_make("devpts", options,
                             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &terminals,
                             fault))
            < 0
        || (r = mount_tree_attach(entry->root_fd, terminals, "/dev/pts", fault))
               < 0)
        return r;
    return make_tmpfs(entry, "/dev/shm", entry->limits.shm, fault);
}

static int attach_source(const launch_entry_t *entry, size_t index,
                         fault_t *fault)
{
    const bind_source_t *source = &entry->sandbox->mounts.sources[index];
    const char *place = bind_source_place(source);
    int r = root_files_add_place(entry->root_fd, place, source->folder, fault);

    return r < 0 ? r
                 : mount_tree_attach(entry->root_fd, entry->tree_fds[index],
                                     place, fault);
}

/* Restricts all places at once, the root among them. */
static int restrict_places(const launch_entry_t *entry, fault_t *fault)
{
    struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
    uint64_t attributes = PLAIN;
    int r;

    if (walls_has(entry->sandbox, WALL_READONLY))
        attributes |= MOUNT_ATTR_RDONLY;
    if ((r = mount_tree_restrict(entry->root_fd, attributes, AT_RECURSIVE,
                                 "attributes", fault))
        < 0)
        return r;
    if (mount_setattr(entry->root_fd, "tmp", 0, &writable, sizeof writable) < 0)
        return fault_errno(fault, "/tmp");
    return 0;
}

/* Attaches the sources. The root and /tmp exist already; a place may be inside
 * them. */
int mounts_attach_sources(launch_entry_t *entry, fault_t *fault)
{
    const mounts_t *mounts = &entry->sandbox->mounts;
    int r;

    /* Links first: a tree may be mounted over the place of a link. */
    for (size_t i = 0; i < mounts->link_count; i++)
        if ((r = root_files_add_link(entry->root_fd, mounts->links[i].path,
                                     mounts->links[i].target, fault))
            < 0)
            return r;
    for (size_t i = 0; i < mounts->source_count; i++)
        if ((r = attach_source(entry, i, fault)) < 0)
            return r;
    return restrict_places(entry, fault);
}

int mounts_attach_workspace(launch_entry_t *entry, fault_t *fault)
{
    return mount_tree_attach(entry->root_fd, entry->workspace_tree_fd,
                             SANDBOX_WORKSPACE, fault);
}

int mounts_enter_root(launch_entry_t *entry, fault_t *fault)
{
    int r;

    /* Its files are ours, so only the mount keeps us from changing them. */
    if ((r = mount_tree_restrict(entry->root_fd, MOUNT_ATTR_RDONLY, 0, "/",
                                 fault))
        < 0)
        return r;
    if (fchdir(entry->root_fd) < 0)
        return fault_errno(fault, "fchdir");
    /* Both names are the new root: the old root is stacked over it and is
     * detached from there (NOTES of pivot_root(2)). */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return fault_errno(fault, "pivot_root");
    return 0;
}

/* Detaches the old root. The system waits until no processor uses a mount of it
 * (RCU): a tenth of a millisecond, and several on a busy machine. */
int mounts_leave_old_root(launch_entry_t *entry, fault_t *fault)
{
    (void) entry;
    if (umount2(".", MNT_DETACH) < 0)
        return fault_errno(fault, "detach the old root");
    return 0;
}
