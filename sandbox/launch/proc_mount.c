/* See proc_mount.h. */
#include "sandbox/launch/proc_mount.h"
#include "sandbox/launch/mount_tree.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#define EMPTY_FOLDER "/run"      /* shown in place of a hidden folder */
#define NULL_DEVICE  "/dev/null" /* and of a hidden file */

#define PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

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

int proc_mount_forbid_user_namespaces(launch_entry_t *entry, fault_t *fault)
{
    static const char path[] = "/proc/sys/user/max_user_namespaces";
    cleanup_fd int fd = openat(entry->root_fd, path + 1, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, "0\n", 2) < 0)
        return fault_errno(fault, path);
    return 0;
}

int proc_mount_make(launch_entry_t *entry, fault_t *fault)
{
    static const mount_option_t none[] = {{NULL, NULL}};
    cleanup_fd int proc = -1;
    int r;

    if ((r = mount_tree_make("proc", none, PLAIN, &proc, fault)) == -EPERM)
        return fault_set(fault, EPERM,
                         "a new one is refused: parts of this machine's /proc "
                         "are covered, as in a container without "
                         "--security-opt systempaths=unconfined");
    return r < 0 ? r : mount_tree_attach(entry->root_fd, proc, "/proc", fault);
}

/* Makes one mount for each place, already in the private root. It has the
 * attributes of its place: read-only, no set-user-id, and no devices or no
 * programs. */
int proc_mount_cover(launch_entry_t *entry, fault_t *fault)
{
    cleanup_fd int sys = -1;
    int r;

    if ((r = mount_tree_clone(entry->root_fd, "proc/sys", &sys, fault)) < 0
        || (r = mount_tree_restrict(sys, PLAIN | MOUNT_ATTR_RDONLY,
                                    AT_RECURSIVE, "/proc/sys", fault))
               < 0
        || (r = mount_tree_attach(entry->root_fd, sys, "/proc/sys", fault)) < 0)
        return r;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (mount(hidden[i].folder ? EMPTY_FOLDER : NULL_DEVICE, hidden[i].path,
                  NULL, MS_BIND, NULL)
                < 0
            && errno != ENOENT)
            return fault_errno(fault, hidden[i].path);
    return 0;
}
