/* The private root: an empty tmpfs that gets its own /dev, /proc, /etc and
 * /tmp, the sources of the description read-only, and the workspace. Runs in
 * the child, as steps, by descriptors: the new mount API attaches trees that
 * were cloned before, so no path of the host is walked with the session's
 * identity, which may not be able to. The old root is detached at the end.
 *
 * Sources and workspace are cloned by path, and compared with what the caller
 * had opened: a descriptor from another mount namespace cannot be cloned. */
#include "sandbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOT_BYTES   "4M" /* our own small files and mount points */
#define ROOT_INODES  "4096"
#define TMP_INODES   "65536"
#define PTYS_MAX     "64"   /* the host's pool has 4096 for everybody */
#define EMPTY_FOLDER "/run" /* shown in place of a hidden folder */

#define PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

typedef struct {
    const char *name;
    const char *value;
} option_t;

/* Folders of the private root, parents first. */
static const char *const folders[] = {"/dev",       "/dev/pts",
                                      "/dev/shm",   "/etc",
                                      "/proc",      "/run",
                                      "/sys",       "/sys/devices",
                                      "/tmp",       "/var",
                                      "/workspace", "/sys/devices/system",
                                      "/var/lib",   "/sys/devices/system/cpu"};

static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full",
                                      "/dev/random", "/dev/urandom"};

static const struct {
    const char *path;
    const char *target;
} links[] = {
    {"/dev/fd", "/proc/self/fd"},
    {"/dev/ptmx", "pts/ptmx"},
    {"/dev/stderr", "/proc/self/fd/2"},
    {"/dev/stdin", "/proc/self/fd/0"},
    {"/dev/stdout", "/proc/self/fd/1"},
    {"/etc/mtab", "/proc/self/mounts"},
    {"/var/tmp", "/tmp"},
};

static const struct {
    const char *path;
    const char *text;
} files[] = {
    {"/etc/group", "kernel:x:1000:\nnogroup:x:65534:\n"},
    {"/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
    {"/etc/nsswitch.conf",
     "passwd: files\ngroup: files\nhosts: files\nservices: files\n"},
    {"/etc/passwd",
     "kernel:x:1000:1000:kernel:/workspace:/bin/sh\n"
     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"/etc/resolv.conf", ""},
};

/* Parts of /proc that speak of the whole machine: side channels (interrupts),
 * maps of the kernel, and locks that belong to an open file, which are listed
 * for everybody. Most of them refuse an ordinary user anyhow. */
static const struct {
    const char *path;
    bool folder;
} hidden[] = {
    {"/proc/acpi", true},
    {"/proc/asound", true},
    {"/proc/bus", true},
    {"/proc/cmdline", false},
    {"/proc/config.gz", false},
    {"/proc/driver", true},
    {"/proc/fs", true},
    {"/proc/interrupts", false},
    {"/proc/iomem", false},
    {"/proc/ioports", false},
    {"/proc/irq", true},
    {"/proc/kallsyms", false},
    {"/proc/kcore", false},
    {"/proc/key-users", false},
    {"/proc/keys", false},
    {"/proc/kmsg", false},
    {"/proc/latency_stats", false},
    {"/proc/locks", false},
    {"/proc/modules", false},
    {"/proc/sched_debug", false},
    {"/proc/scsi", true},
    {"/proc/softirqs", false},
    {"/proc/sysrq-trigger", false},
    {"/proc/timer_list", false},
    {"/proc/timer_stats", false},
};

static int set_attributes(int fd, uint64_t attributes, unsigned flags,
                          const char *what, fault_t *fault)
{
    struct mount_attr change = {.attr_set = attributes};

    if (mount_setattr(fd, "", AT_EMPTY_PATH | flags, &change, sizeof change)
        < 0)
        return fault_errno(fault, what);
    return 0;
}

/* A copy of the mounts at `path`, attached nowhere yet. */
static int clone_tree(int folder, const char *path, uint64_t attributes,
                      int *ret_fd, fault_t *fault)
{
    cleanup_fd int fd =
        open_tree(folder, path,
                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
                      | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW);
    int r;

    if (fd < 0)
        return fault_errno(fault, path);
    if ((r = set_attributes(fd, attributes, AT_RECURSIVE, path, fault)) < 0)
        return r;
    *ret_fd = take_fd(&fd);
    return 0;
}

/* As clone_tree, when the path still leads to what `seen_fd` is. */
static int clone_same(const char *path, int seen_fd, uint64_t attributes,
                      int *ret_fd, fault_t *fault)
{
    cleanup_fd int fd = -1;
    struct stat seen;
    struct stat found;
    int r;

    if ((r = clone_tree(AT_FDCWD, path, attributes, &fd, fault)) < 0)
        return r;
    if (fstat(seen_fd, &seen) < 0 || fstat(fd, &found) < 0)
        return fault_errno(fault, path);
    if (seen.st_dev != found.st_dev || seen.st_ino != found.st_ino)
        return fault_set(fault, ESTALE, "%s is not what it was any more", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

/* A new file system of a kind, attached nowhere yet. */
static int make_filesystem(const char *kind, const option_t *options,
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

/* Attaches a tree to a place of the private root; `path` is absolute. */
static int attach(const entry_t *entry, int tree, const char *path,
                  fault_t *fault)
{
    if (move_mount(tree, "", entry->root_fd, path + 1, MOVE_MOUNT_F_EMPTY_PATH)
        < 0)
        return fault_errno(fault, path);
    return 0;
}

static int make_tmpfs(const entry_t *entry, const char *path, const char *mode,
                      fault_t *fault)
{
    char size[32];
    const option_t options[] = {{"size", size},
                                {"nr_inodes", TMP_INODES},
                                {"mode", mode},
                                {NULL, NULL}};
    cleanup_fd int fd = -1;
    int r;

    snprintf(size, sizeof size, "%llu",
             (unsigned long long) entry->limits.tmp_bytes);
    if ((r = make_filesystem("tmpfs", options, PLAIN, &fd, fault)) < 0)
        return r;
    return attach(entry, fd, path, fault);
}

/* mkdir -p of a path in the private root; the last part only when `whole`. */
static int make_path(const entry_t *entry, const char *path, bool whole,
                     fault_t *fault)
{
    char part[PATH_MAX];
    size_t length = strlen(path);

    for (size_t end = 1; end <= length; end++) {
        if (path[end] != '/' && (path[end] != '\0' || !whole))
            continue;
        memcpy(part, path + 1, end - 1);
        part[end - 1] = '\0';
        if (mkdirat(entry->root_fd, part, 0755) < 0 && errno != EEXIST)
            return fault_errno(fault, path);
    }
    return 0;
}

static int make_file(const entry_t *entry, const char *path, const char *text,
                     fault_t *fault)
{
    cleanup_fd int fd =
        openat(entry->root_fd, path + 1,
               O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return fault_errno(fault, path);
    return 0;
}

static int make_link(const entry_t *entry, const char *path, const char *target,
                     fault_t *fault)
{
    int r;

    if ((r = make_path(entry, path, false, fault)) < 0)
        return r;
    if (symlinkat(target, entry->root_fd, path + 1) < 0)
        return fault_errno(fault, path);
    return 0;
}

static int open_sources(entry_t *entry, const char *workspace, fault_t *fault)
{
    const mounts_t *mounts = &entry->sandbox->mounts;
    uint64_t shown = PLAIN;
    int r;

    if (walls_has(entry->sandbox, WALL_READONLY))
        shown |= MOUNT_ATTR_RDONLY;
    /* Nothing that we mount shall be seen outside, nothing new outside be
     * seen here. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return fault_errno(fault,
                           errno == EACCES || errno == EPERM
                               ? "make all mounts private (does AppArmor "
                                 "restrict user namespaces here?)"
                               : "make all mounts private");
    for (size_t i = 0; i < mounts->source_count; i++)
        if ((r = clone_same(mounts->sources[i].path, mounts->sources[i].fd,
                            shown, &entry->tree_fds[i], fault))
            < 0)
            return r;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if ((r = clone_tree(AT_FDCWD, devices[i],
                            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID
                                | MOUNT_ATTR_NOEXEC,
                            &entry->device_fds[i], fault))
            < 0)
            return r;
    return clone_same(workspace, entry->launch->workspace_fd, PLAIN,
                      &entry->workspace_tree_fd, fault);
}

int mounts_open_sources(entry_t *entry, fault_t *fault)
{
    return entry->launch->mapper_fd != 0
               ? 0
               : open_sources(entry, entry->workspace, fault);
}

/* A caller with a mapper has no right to the workspace, nor to what is on the
 * way to it. It is the session's, which enters it by the descriptor; what a
 * process is in when it gets mounts of its own it is in there, too. */
int mounts_enter_own(entry_t *entry, fault_t *fault)
{
    if (entry->launch->mapper_fd == 0)
        return 0;
    if (fchdir(entry->launch->workspace_fd) < 0)
        return fault_errno(fault, "enter the workspace");
    if (unshare(CLONE_NEWNS) < 0)
        return fault_errno(fault, "new namespace");
    return open_sources(entry, ".", fault);
}

int mounts_make_root(entry_t *entry, fault_t *fault)
{
    static const option_t options[] = {{"size", ROOT_BYTES},
                                       {"nr_inodes", ROOT_INODES},
                                       {"mode", "0755"},
                                       {NULL, NULL}};
    int r;

    if ((r = make_filesystem("tmpfs", options, PLAIN, &entry->root_fd, fault))
        < 0)
        return r;
    /* Over the old root, which stays ours until pivot_root: a tree must be
     * attached before others can be attached to it. */
    if (move_mount(entry->root_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH)
        < 0)
        return fault_errno(fault, "attach");
    return 0;
}

int mounts_make_folders(entry_t *entry, fault_t *fault)
{
    int r;

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if ((r = make_path(entry, folders[i], true, fault)) < 0)
            return r;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if ((r = make_link(entry, links[i].path, links[i].target, fault)) < 0)
            return r;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if ((r = make_file(entry, files[i].path, files[i].text, fault)) < 0)
            return r;
    return make_file(entry, "/sys/devices/system/cpu/online",
                     entry->sandbox->mounts.cpus_online, fault);
}

int mounts_make_devices(entry_t *entry, fault_t *fault)
{
    static const option_t options[] = {{"ptmxmode", "0666"},
                                       {"mode", "0620"},
                                       {"max", PTYS_MAX},
                                       {NULL, NULL}};
    cleanup_fd int terminals = -1;
    int r;

    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        if ((r = make_file(entry, devices[i], "", fault)) < 0
            || (r = attach(entry, entry->device_fds[i], devices[i], fault)) < 0)
            return r;
    /* A pool of terminals of its own, for `!command` and pexpect. */
    if ((r = make_filesystem("devpts", options,
                             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &terminals,
                             fault))
            < 0
        || (r = attach(entry, terminals, "/dev/pts", fault)) < 0)
        return r;
    if ((r = make_tmpfs(entry, "/dev/shm", "1777", fault)) < 0)
        return r;
    return make_tmpfs(entry, "/tmp", "1777", fault);
}

static int hide(const entry_t *entry, const char *path, bool folder,
                fault_t *fault)
{
    cleanup_fd int cover = -1;
    const char *with = folder ? EMPTY_FOLDER : devices[0];
    int r;

    if (faccessat(entry->root_fd, path + 1, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : fault_errno(fault, path);
    /* Without what else is attached below. */
    cover = open_tree(entry->root_fd, with + 1,
                      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (cover < 0)
        return fault_errno(fault, with);
    if ((r = set_attributes(
             cover, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
             0, with, fault))
        < 0)
        return r;
    return attach(entry, cover, path, fault);
}

/* A second wall behind the filter, which refuses new namespaces already. */
int mounts_forbid_user_namespaces(entry_t *entry, fault_t *fault)
{
    static const char path[] = "/proc/sys/user/max_user_namespaces";
    cleanup_fd int fd = openat(entry->root_fd, path + 1, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, "0\n", 2) < 0)
        return fault_errno(fault, path);
    return 0;
}

int mounts_make_proc(entry_t *entry, fault_t *fault)
{
    static const option_t none[] = {{NULL, NULL}};
    cleanup_fd int proc = -1;
    int r;

    if ((r = make_filesystem("proc", none, PLAIN | MOUNT_ATTR_NOEXEC, &proc,
                             fault))
        == -EPERM)
        return fault_set(fault, EPERM,
                         "a new one is refused: parts of this machine's /proc "
                         "are covered, as in a container without "
                         "--security-opt systempaths=unconfined");
    return r < 0 ? r : attach(entry, proc, "/proc", fault);
}

int mounts_cover_proc(entry_t *entry, fault_t *fault)
{
    cleanup_fd int sys = -1;
    int r;

    if ((r = clone_tree(entry->root_fd, "proc/sys",
                        PLAIN | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, &sys,
                        fault))
            < 0
        || (r = attach(entry, sys, "/proc/sys", fault)) < 0)
        return r;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if ((r = hide(entry, hidden[i].path, hidden[i].folder, fault)) < 0)
            return r;
    return 0;
}

int mounts_attach_sources(entry_t *entry, fault_t *fault)
{
    const mounts_t *mounts = &entry->sandbox->mounts;
    int r;

    /* Links first: a tree may come to lie over the place of one. */
    for (size_t i = 0; i < mounts->link_count; i++)
        if ((r = make_link(entry, mounts->links[i].path,
                           mounts->links[i].target, fault))
            < 0)
            return r;
    for (size_t i = 0; i < mounts->source_count; i++) {
        const source_t *source = &mounts->sources[i];
        const char *place = source_place(source);

        if ((r = make_path(entry, place, source->folder, fault)) < 0)
            return r;
        if (!source->folder && (r = make_file(entry, place, "", fault)) < 0)
            return r;
        if ((r = attach(entry, entry->tree_fds[i], place, fault)) < 0)
            return r;
    }
    return 0;
}

int mounts_attach_workspace(entry_t *entry, fault_t *fault)
{
    return attach(entry, entry->workspace_tree_fd, SANDBOX_WORKSPACE, fault);
}

int mounts_enter_root(entry_t *entry, fault_t *fault)
{
    int r;

    /* Its files are ours, so only the mount keeps us from changing them. */
    if ((r = set_attributes(entry->root_fd, MOUNT_ATTR_RDONLY, 0, "/", fault))
        < 0)
        return r;
    if (fchdir(entry->root_fd) < 0)
        return fault_errno(fault, "fchdir");
    /* Both names are the new root: the old one comes to lie over it, and is
     * detached from there (pivot_root(2), NOTES). */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return fault_errno(fault, "pivot_root");
    return 0;
}

/* The system waits here until no processor can be looking at a mount of the
 * old root (RCU): a tenth of a millisecond, and several on a busy machine. */
int mounts_leave_old_root(entry_t *entry, fault_t *fault)
{
    (void) entry;
    if (umount2(".", MNT_DETACH) < 0)
        return fault_errno(fault, "detach the old root");
    return 0;
}
