/* The namespaces of a launch. One clone(2) makes those that a process can only
 * be born in: the child is pid 1 of its own from its first instruction. The
 * child makes the others while the payload is born, which enters them
 * afterwards. These take a quarter of the time of a fork, most of it for the
 * network.
 *
 * One user is mapped: 1000 inside is the session's user outside. Pid 1 has
 * another user, if the caller may give it one; no other user exists. The caller
 * is root, or an ordinary user who owns the new namespace. It writes the maps,
 * or has them written; the child waits for a byte. Mounts nothing. */
#include "sandbox/launch/namespaces.h"
#include "sandbox/policy/inside.h"
#include "sandbox/users/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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

/* The namespace of control groups is made when the child is in its own group,
 * because that group becomes its root. */
static const struct {
    int flag;
    wall_t wall;
    const char *link; /* in the new root; NULL: the clone makes it */
} namespaces[] = {
    {CLONE_NEWUSER, WALL_USER, NULL},
    {CLONE_NEWPID, WALL_PID, NULL},
    {CLONE_NEWUTS, WALL_UTS, NULL},
    {CLONE_NEWNS, WALL_MOUNT, "proc/self/ns/mnt"},
    {CLONE_NEWNET, WALL_NETWORK, "proc/self/ns/net"},
    {CLONE_NEWIPC, WALL_IPC, "proc/self/ns/ipc"},
};

#define NAMESPACES (sizeof namespaces / sizeof namespaces[0])

static unsigned namespace_flags(const launch_entry_t *entry, bool beside)
{
    unsigned flags = 0;

    for (size_t i = 0; i < NAMESPACES; i++)
        if (walls_has(entry->sandbox, namespaces[i].wall)
            && beside == (namespaces[i].link != NULL))
            flags |= (unsigned) namespaces[i].flag;
    return flags;
}

static int refuse_namespaces(int code, const char *prefix, fault_t *fault)
{
    const char *hint = "";

    if (code == ENOSPC || code == EUSERS)
        hint = " (sysctl user.max_user_namespaces and its neighbours)";
    else if (code == EPERM || code == EACCES)
        hint = " (are unprivileged user namespaces switched off here?)";
    return fault_set(fault, code, "%snew namespaces: %s%s", prefix,
                     strerror(code), hint);
}

int namespaces_clone(const launch_entry_t *entry, clone_t *clone,
                     int (*run)(void *), void *argument,
                     sandbox_child_t *ret_child, fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;
    int pidfd = -1;
    long pid =
        clone_start(clone, namespace_flags(entry, false),
                    launch->is_cgroup_folder ? launch->cgroup_fds[0] : -1, run,
                    argument, &pidfd);

    if (pid < 0)
        return refuse_namespaces((int) -pid, "sandbox: ", fault);
    *ret_child = (sandbox_child_t){.pid = (pid_t) pid, .fd = pidfd};
    return 0;
}

int namespaces_make(launch_entry_t *entry, fault_t *fault)
{
    /* namespaces_make_own_mounts makes the one of mounts. */
    unsigned flags = namespace_flags(entry, true) & ~(unsigned) CLONE_NEWNS;

    return unshare((int) flags) < 0 ? refuse_namespaces(errno, "", fault) : 0;
}

/* Returns the next namespace from `i` on that is made beside the fork;
 * NAMESPACES after the last one. */
static size_t next_beside(const launch_entry_t *entry, size_t i)
{
    while (i < NAMESPACES
           && (namespaces[i].link == NULL
               || !walls_has(entry->sandbox, namespaces[i].wall)))
        i++;
    return i;
}

size_t namespaces_count(const launch_entry_t *entry)
{
    size_t count = 0;

    for (size_t i = 0; (i = next_beside(entry, i)) < NAMESPACES; i++)
        count++;
    return count;
}

int namespaces_open(launch_entry_t *entry, fault_t *fault)
{
    for (size_t i = 0; (i = next_beside(entry, i)) < NAMESPACES; i++) {
        int fd =
            openat(entry->root_fd, namespaces[i].link, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
            return fault_errno(fault, namespaces[i].link);
        entry->namespace_fds[entry->namespace_count++] = fd;
    }
    return 0;
}

int namespaces_enter(launch_entry_t *entry, fault_t *fault)
{
    const int *fd = entry->namespace_fds;

    for (size_t i = 0; (i = next_beside(entry, i)) < NAMESPACES; i++, fd++) {
        if (setns(*fd, namespaces[i].flag) < 0)
            return fault_errno(fault, namespaces[i].link);
        close(*fd);
    }
    return 0;
}

/* Joins by the `tasks` files of version 1: a thread that moves itself delays no
 * other process. Pid 1 has one thread so far. */
int namespaces_join_group(launch_entry_t *entry, fault_t *fault)
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

int namespaces_map(const launch_entry_t *entry, pid_t pid, fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;
    const idmap_t map = {.pid = pid,
                         .uid = launch->host_uid,
                         .gid = launch->host_gid,
                         .init_uid = launch->init_uid,
                         .init_gid = launch->init_gid};

    /* A caller that may give users leaves setgroups permitted until the child
     * has dropped the caller's groups. */
    return launch->mapper_fd != 0
               ? idmap_ask(launch->mapper_fd, &map, fault)
               : idmap_write(&map, !entry->privileged, fault);
}

int namespaces_await_map(launch_entry_t *entry, fault_t *fault)
{
    char go;
    ssize_t got = read(entry->go_fd, &go, 1);

    if (got < 0)
        return fault_errno(fault, "read");
    if (got == 0)
        return fault_set(fault, ECANCELED, "the caller gave up");
    return 0;
}

/* Changes group and user by raw calls. Those of glibc change every thread of a
 * process, by means that do not work in a clone that glibc does not know. */
static int become(gid_t gid, uid_t uid, fault_t *fault)
{
    if (syscall(SYS_setresgid, gid, gid, gid) < 0)
        return fault_errno(fault, "setresgid");
    if (syscall(SYS_setresuid, uid, uid, uid) < 0)
        return fault_errno(fault, "setresuid");
    return 0;
}

/* Enters the workspace by its descriptor. Only the session needs a right to it:
 * its identity counts for files meanwhile. The caller's has no number here that
 * setfsuid could be given. setreuid has the effective one count again. */
static int enter_workspace(const launch_entry_t *entry, fault_t *fault)
{
    int r = 0;

    syscall(SYS_setfsgid, SANDBOX_INSIDE_GID);
    syscall(SYS_setfsuid, SANDBOX_INSIDE_UID);
    if (fchdir(entry->launch->workspace_fd) < 0)
        r = fault_errno(fault, "enter the workspace");
    syscall(SYS_setregid, -1, -1);
    syscall(SYS_setreuid, -1, -1);
    return r;
}

/* Enters the workspace first: a process keeps its working directory when it
 * gets mounts of its own. So the path of the workspace is not walked. Neither
 * the caller nor the session needs a right to the folders above it. */
int namespaces_make_own_mounts(launch_entry_t *entry, fault_t *fault)
{
    int r = enter_workspace(entry, fault);

    if (r == 0 && unshare(CLONE_NEWNS) < 0)
        r = fault_errno(fault, "new namespace");
    return r;
}

int namespaces_take_identity(launch_entry_t *entry, fault_t *fault)
{
    bool own = entry->launch->init_uid != 0;

    if (entry->privileged && setgroups(0, NULL) < 0)
        return fault_errno(fault, "setgroups");
    return become(own ? SANDBOX_INIT_GID : SANDBOX_INSIDE_GID,
                  own ? SANDBOX_INIT_UID : SANDBOX_INSIDE_UID, fault);
}

int namespaces_take_payload_identity(launch_entry_t *entry, fault_t *fault)
{
    if (entry->privileged && setgroups(0, NULL) < 0)
        return fault_errno(fault, "setgroups");
    return become(SANDBOX_INSIDE_GID, SANDBOX_INSIDE_UID, fault);
}

/* Raises the score, so that sessions are ended before the gateway when the
 * machine's memory is short. If this is refused, the kernel decides alone. It
 * is done once the payload has its own memory: the score counts for all
 * processes that share it. */
int namespaces_offer_to_oom(launch_entry_t *entry, fault_t *fault)
{
    cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    (void) entry;
    (void) fault;
    if (fd >= 0)
        (void) !write(fd, OOM_SCORE, strlen(OOM_SCORE));
    return 0;
}

int namespaces_raise_loopback(launch_entry_t *entry, fault_t *fault)
{
    struct ifreq request;
    cleanup_fd int fd = -1;

    if (entry->sandbox->network == SANDBOX_NETWORK_NONE
        || !walls_has(entry->sandbox, WALL_NETWORK))
        return 0;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
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

int namespaces_set_hostname(launch_entry_t *entry, fault_t *fault)
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
