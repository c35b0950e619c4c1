/* The namespaces of a launch: one clone(2) makes all of them, so that the
 * child is pid 1 of its own from its first instruction. One user is mapped:
 * 1000 inside is the session's user outside, and nobody else exists.
 *
 * The caller writes the maps in both modes (root, and an ordinary user who
 * owns the new namespace); the child waits for a byte. Does not touch mounts.
 */
#include "sandbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OOM_SCORE "500"

/* The one for control groups comes when the child is in its own: what it is
 * made in is what it shows as the root. */
static const struct {
    int flag;
    wall_t wall;
} namespaces[] = {
    {CLONE_NEWUSER, WALL_USER}, {CLONE_NEWNS, WALL_MOUNT},
    {CLONE_NEWPID, WALL_PID},   {CLONE_NEWNET, WALL_NETWORK},
    {CLONE_NEWIPC, WALL_IPC},   {CLONE_NEWUTS, WALL_UTS},
};

static unsigned long namespace_flags(const sandbox_t *sandbox)
{
    unsigned long flags = 0;

    for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++)
        if (walls_has(sandbox, namespaces[i].wall))
            flags |= (unsigned) namespaces[i].flag;
    return flags;
}

/* Born in the control group of version 2. Later it could only be moved, which
 * makes the whole machine's forks wait. */
static long clone_into(unsigned long flags, int folder, int *ret_pidfd)
{
    struct clone_args args = {
        .flags = flags | CLONE_PIDFD | CLONE_INTO_CGROUP,
        .pidfd = (uint64_t) (uintptr_t) ret_pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t) folder,
    };

    return syscall(SYS_clone3, &args, sizeof args);
}

int namespaces_clone(const entry_t *entry, pid_t *ret_pid, int *ret_pidfd,
                     fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;
    unsigned long flags = namespace_flags(entry->sandbox);
    int pidfd = -1;

    /* Raw, because glibc's fork has no flags and its clone wants a stack. No
     * at-fork handler has run in the child: pid 1 needs none, and it makes the
     * payload by fork(3), which runs them. */
    long pid = launch->is_cgroup_folder
                   ? clone_into(flags, launch->cgroup_fds[0], &pidfd)
                   : syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL,
                             &pidfd, NULL, NULL);
    if (pid < 0) {
        int code = errno;
        const char *hint = "";

        if (code == ENOSPC || code == EUSERS)
            hint = " (sysctl user.max_user_namespaces and its neighbours)";
        else if (code == EPERM || code == EACCES)
            hint = " (are unprivileged user namespaces switched off here?)";
        return fault_set(fault, code, "sandbox: new namespaces: %s%s",
                         strerror(code), hint);
    }
    *ret_pid = (pid_t) pid;
    *ret_pidfd = pidfd;
    return 0;
}

/* By the `tasks` files, of version 1, a thread that moves itself holds nobody
 * up; pid 1 has one thread yet. */
int namespaces_join_group(entry_t *entry, fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;

    for (size_t i = 0; i < launch->cgroup_count; i++) {
        if (!launch->is_cgroup_folder
            && write(launch->cgroup_fds[i], "0", 1) != 1)
            return fault_errno(fault, "join");
        close(launch->cgroup_fds[i]);
    }
    if (walls_has(entry->sandbox, WALL_CGROUP) && unshare(CLONE_NEWCGROUP) < 0)
        return fault_errno(fault, "new namespace");
    return 0;
}

static int write_map(pid_t pid, const char *file, const char *text,
                     fault_t *fault)
{
    char path[64];
    cleanup_fd int fd = -1;

    snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    /* A map is taken in one write or not at all. */
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return fault_set(fault, errno, "sandbox: write \"%s\" to %s: %s", text,
                         path, strerror(errno));
    return 0;
}

/* When the machine's memory is short, sessions go before the gateway. Where
 * this is refused the order is the kernel's own. */
static void offer_to_oom(pid_t pid)
{
    fault_t ignored;

    (void) write_map(pid, "oom_score_adj", OOM_SCORE, &ignored);
}

int namespaces_map(const entry_t *entry, pid_t pid, fault_t *fault)
{
    char users[64];
    char groups[64];
    int r;

    offer_to_oom(pid);
    snprintf(users, sizeof users, "%d %u 1", SANDBOX_INSIDE_UID,
             (unsigned) entry->launch->host_uid);
    snprintf(groups, sizeof groups, "%d %u 1", SANDBOX_INSIDE_GID,
             (unsigned) entry->launch->host_gid);
    /* The price for a map without privilege; root keeps setgroups until the
     * child has dropped the caller's groups. */
    if (!entry->privileged
        && (r = write_map(pid, "setgroups", "deny", fault)) < 0)
        return r;
    if ((r = write_map(pid, "uid_map", users, fault)) < 0
        || (r = write_map(pid, "gid_map", groups, fault)) < 0)
        return r;
    return 0;
}

int namespaces_await_map(entry_t *entry, fault_t *fault)
{
    char go;
    ssize_t got = read(entry->go_fd, &go, 1);

    if (got < 0)
        return fault_errno(fault, "read");
    if (got == 0)
        return fault_set(fault, ECANCELED, "the caller gave up");
    close(entry->go_fd);
    entry->go_fd = -1;
    return 0;
}

int namespaces_take_identity(entry_t *entry, fault_t *fault)
{
    const gid_t gid = SANDBOX_INSIDE_GID;
    const uid_t uid = SANDBOX_INSIDE_UID;

    if (entry->privileged && setgroups(0, NULL) < 0)
        return fault_errno(fault, "setgroups");
    /* The raw calls: glibc's tell every thread of a process about it, by
     * means that a clone without its knowledge does not have. */
    if (syscall(SYS_setresgid, gid, gid, gid) < 0)
        return fault_errno(fault, "setresgid");
    if (syscall(SYS_setresuid, uid, uid, uid) < 0)
        return fault_errno(fault, "setresuid");
    if (setsid() < 0)
        return fault_errno(fault, "setsid");
    umask(022);
    return 0;
}

int namespaces_raise_loopback(entry_t *entry, fault_t *fault)
{
    struct ifreq request;
    cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (entry->sandbox->network == SANDBOX_NETWORK_NONE
        || !walls_has(entry->sandbox, WALL_NETWORK))
        return 0;
    if (fd < 0)
        return fault_errno(fault, "socket");
    memset(&request, 0, sizeof request);
    memcpy(request.ifr_name, "lo", sizeof "lo");
    if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
        return fault_errno(fault, "read the flags of lo");
    request.ifr_flags |= IFF_UP;
    if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return fault_errno(fault, "set the flags of lo");
    return 0;
}

int namespaces_set_hostname(entry_t *entry, fault_t *fault)
{
    const char *name = entry->launch->hostname;

    if (!walls_has(entry->sandbox, WALL_UTS))
        return 0; /* it would be the host's */
    if (name == NULL)
        name = "hearth";
    if (sethostname(name, strlen(name)) < 0)
        return fault_errno(fault, name);
    return 0;
}
