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
#include "sandbox/policy/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOT_BYTES   "4M" /* our own small files and mount points */
#define ROOT_INODES  "4096"
#define TMP_INODES   "65536"
#define PTYS_MAX     "64"   /* the host's pool has 4096 for everybody */
#define EMPTY_FOLDER "/run" /* shown in place of a hidden folder */

#define PLAIN  (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define DEVICE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

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

static const char *const devices[DEVICES] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

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

/* Parts of /proc that describe the whole machine: side channels (interrupts),
 * maps of the kernel, and locks that belong to an open file, which are listed
 * for every user. Most of them refuse an ordinary user anyhow. */
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

/* Clones the mounts at `path` as they are, attached nowhere yet. An empty path
 * is the working directory; no right to it is needed. */
static int clone_tree(int folder, const char *path, int *ret_fd, fault_t *fault)
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

/* Clones a tree like clone_tree if the path still leads to that file or
 * folder. */
static int clone_same(const bind_source_t *source, int *ret_fd, fault_t *fault)
{
    cleanup_fd int fd = -1;
    struct stat found;
    int r;

    if ((r = clone_tree(AT_FDCWD, source->path, &fd, fault)) < 0)
        return r;
    if (fstat(fd, &found) < 0)
        return fault_errno(fault, source->path);
    if (found.st_dev != source->device || found.st_ino != source->inode)
        return fault_set(fault, ESTALE, "%s is not what it was any more",
                         source->path);
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

static int make_tmpfs(const entry_t *entry, const char *path, uint64_t bytes,
                      fault_t *fault)
{
    char size[32];
    const option_t options[] = {{"size", size},
                                {"nr_inodes", TMP_INODES},
                                {"mode", "1777"},
                                {NULL, NULL}};
    cleanup_fd int fd = -1;
    int r;

    snprintf(size, sizeof size, "%llu", (unsigned long long) bytes);
    if ((r = make_filesystem("tmpfs", options, PLAIN, &fd, fault)) < 0)
        return r;
    return attach(entry, fd, path, fault);
}

/* Makes one thing in the private root, relative to it; -1 with errno. */
typedef int(make_fn)(int root, const char *path, const char *content);

static int make_folder(int root, const char *path, const char *content)
{
    (void) content;
    return mkdirat(root, path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

static int make_link(int root, const char *path, const char *target)
{
    return symlinkat(target, root, path);
}

static int make_file(int root, const char *path, const char *text)
{
    cleanup_fd int fd = -1;

    /* An existing name may be a link, which only the open below detects. */
    if (text[0] == '\0') {
        if (mknodat(root, path, S_IFREG | 0644, 0) == 0)
            return 0;
        if (errno != EEXIST)
            return -1;
    }
    fd = openat(root, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* Makes the folders above that path. */
static int make_above(const entry_t *entry, const char *path, fault_t *fault)
{
    char part[PATH_MAX];

    for (const char *end = path + 1; (end = strchr(end, '/')) != NULL; end++) {
        memcpy(part, path + 1, (size_t) (end - path - 1));
        part[end - path - 1] = '\0';
        if (make_folder(entry->root_fd, part, NULL) < 0)
            return fault_errno(fault, path);
    }
    return 0;
}

/* Makes one thing in the private root; `path` is absolute. Tries without making
 * its folders first, because most often they exist. */
static int make(const entry_t *entry, make_fn *run, const char *path,
                const char *content, fault_t *fault)
{
    int r;

    if (run(entry->root_fd, path + 1, content) == 0)
        return 0;
    if (errno != ENOENT)
        return fault_errno(fault, path);
    if ((r = make_above(entry, path, fault)) < 0)
        return r;
    if (run(entry->root_fd, path + 1, content) < 0)
        return fault_errno(fault, path);
    return 0;
}

static int clone_sources(entry_t *entry, fault_t *fault)
{
    const mounts_t *mounts = &entry->sandbox->mounts;
    int r;

    for (size_t i = 0; i < mounts->source_count; i++)
        if ((r = clone_same(&mounts->sources[i], &entry->tree_fds[i], fault))
            < 0)
            return r;
    return 0;
}

static int clone_devices(entry_t *entry, fault_t *fault)
{
    int r;

    for (size_t i = 0; i < DEVICES; i++)
        if ((r = clone_tree(AT_FDCWD, devices[i], &entry->device_fds[i], fault))
                < 0
            || (r = set_attributes(entry->device_fds[i], DEVICE, AT_RECURSIVE,
                                   devices[i], fault))
                   < 0)
            return r;
    return 0;
}

static int clone_workspace(entry_t *entry, fault_t *fault)
{
    int r;

    if ((r = clone_tree(AT_FDCWD, "", &entry->workspace_tree_fd, fault)) < 0)
        return r;
    return set_attributes(entry->workspace_tree_fd, PLAIN, AT_RECURSIVE,
                          "the workspace", fault);
}

int mounts_open_sources(entry_t *entry, fault_t *fault)
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
    /* Attached over the old root, which stays in use until pivot_root: a tree
     * must be attached before others can be attached to it. */
    if (move_mount(entry->root_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH)
        < 0)
        return fault_errno(fault, "attach");
    return 0;
}

int mounts_make_folders(entry_t *entry, fault_t *fault)
{
    int r;

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if ((r = make(entry, make_folder, folders[i], NULL, fault)) < 0)
            return r;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if ((r = make(entry, make_link, links[i].path, links[i].target, fault))
            < 0)
            return r;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if ((r = make(entry, make_file, files[i].path, files[i].text, fault))
            < 0)
            return r;
    for (size_t i = 0; i < DEVICES; i++)
        if ((r = make(entry, make_file, devices[i], "", fault)) < 0)
            return r;
    return make(entry, make_file, "/sys/devices/system/cpu/online",
                entry->sandbox->mounts.cpus_online, fault);
}

int mounts_make_tmp(entry_t *entry, fault_t *fault)
{
    return make_tmpfs(entry, "/tmp", entry->limits.tmp, fault);
}

int mounts_make_devices(entry_t *entry, fault_t *fault)
{
    static const option_t options[] = {{"ptmxmode", "0666"},
                                       {"mode", "0620"},
                                       {"max", PTYS_MAX},
                                       {NULL, NULL}};
    cleanup_fd int terminals = -1;
    int r;

    for (size_t i = 0; i < DEVICES; i++)
        if ((r = attach(entry, entry->device_fds[i], devices[i], fault)) < 0)
            return r;
    /* A pool of terminals of its own, for `!command` and pexpect. */
    if ((r = make_filesystem("devpts", options,
                             MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &terminals,
                             fault))
            < 0
        || (r = attach(entry, terminals, "/dev/pts", fault)) < 0)
        return r;
    return make_tmpfs(entry, "/dev/shm", entry->limits.shm, fault);
}

/* Forbids user namespaces: a second wall beside the filter, which refuses new
 * namespaces already. */
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

/* Makes one mount for each place, already in the private root. It has the
 * attributes of its place: read-only, no set-user-id, and no devices or no
 * programs. */
int mounts_cover_proc(entry_t *entry, fault_t *fault)
{
    cleanup_fd int sys = -1;
    int r;

    if ((r = clone_tree(entry->root_fd, "proc/sys", &sys, fault)) < 0
        || (r = set_attributes(sys,
                               PLAIN | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY,
                               AT_RECURSIVE, "/proc/sys", fault))
               < 0
        || (r = attach(entry, sys, "/proc/sys", fault)) < 0)
        return r;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (mount(hidden[i].folder ? EMPTY_FOLDER : devices[0], hidden[i].path,
                  NULL, MS_BIND, NULL)
                < 0
            && errno != ENOENT)
            return fault_errno(fault, hidden[i].path);
    return 0;
}

static int attach_source(const entry_t *entry, size_t index, fault_t *fault)
{
    const bind_source_t *source = &entry->sandbox->mounts.sources[index];
    const char *place = bind_source_place(source);
    int r =
        make(entry, source->folder ? make_folder : make_file, place, "", fault);

    return r < 0 ? r : attach(entry, entry->tree_fds[index], place, fault);
}

/* All at once, the root among them. */
static int restrict_places(const entry_t *entry, fault_t *fault)
{
    struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
    uint64_t attributes = PLAIN;
    int r;

    if (walls_has(entry->sandbox, WALL_READONLY))
        attributes |= MOUNT_ATTR_RDONLY;
    if ((r = set_attributes(entry->root_fd, attributes, AT_RECURSIVE,
                            "attributes", fault))
        < 0)
        return r;
    if (mount_setattr(entry->root_fd, "tmp", 0, &writable, sizeof writable) < 0)
        return fault_errno(fault, "/tmp");
    return 0;
}

/* Attaches the sources. The root and /tmp exist already; a place may be inside
 * them. */
int mounts_attach_sources(entry_t *entry, fault_t *fault)
{
    const mounts_t *mounts = &entry->sandbox->mounts;
    int r;

    /* Links first: a tree may be mounted over the place of a link. */
    for (size_t i = 0; i < mounts->link_count; i++)
        if ((r = make(entry, make_link, mounts->links[i].path,
                      mounts->links[i].target, fault))
            < 0)
            return r;
    for (size_t i = 0; i < mounts->source_count; i++)
        if ((r = attach_source(entry, i, fault)) < 0)
            return r;
    return restrict_places(entry, fault);
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
    /* Both names are the new root: the old root is stacked over it and is
     * detached from there (NOTES of pivot_root(2)). */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return fault_errno(fault, "pivot_root");
    return 0;
}

/* Here the system waits until no processor uses a mount of the old root (RCU):
 * a tenth of a millisecond, and several on a busy machine. */
int mounts_leave_old_root(entry_t *entry, fault_t *fault)
{
    (void) entry;
    if (umount2(".", MNT_DETACH) < 0)
        return fault_errno(fault, "detach the old root");
    return 0;
}
