/* See user_namespace.h. The namespace is made by a child, so that a failure
 * leaves this process where it was: to join one is the last step. */
#include "sandbox/users/user_namespace.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAP_MAX     4096
#define SAID_MAX    200 /* bytes of newuidmap's message that are reported */
#define EXIT_FAILED 70  /* sysexits' "internal software error" */

extern char **environ;

/* The capabilities that etc/hearth.service.in gives, for the same reasons. */
static const int kept[] = {CAP_SETUID,    CAP_SETGID,       CAP_CHOWN,
                           CAP_KILL,      CAP_DAC_OVERRIDE, CAP_FOWNER,
                           CAP_SYS_PTRACE};

/* Keeps some capabilities alone. They become ambient as well: hearth-mapper
 * gets its two by exec. */
static int keep_capabilities(fault_t *fault)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    uint32_t mask = 0;

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        mask |= 1u << kept[i];
    /* Ends at the first number that this kernel does not know. */
    for (unsigned long number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0;
         number++)
        if ((number >= 32 || !(mask & 1u << number))
            && prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0)
            return fault_set(fault, errno, "bounding set: %s", strerror(errno));
    memset(sets, 0, sizeof sets);
    sets[0].effective = sets[0].permitted = sets[0].inheritable = mask;
    if (syscall(SYS_capset, &header, sets) < 0)
        return fault_set(fault, errno, "capset: %s", strerror(errno));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0) < 0)
            return fault_set(fault, errno, "ambient set: %s", strerror(errno));
    return 0;
}

static int join(int namespace_fd, fault_t *fault)
{
    if (setns(namespace_fd, CLONE_NEWUSER) < 0)
        return fault_set(fault, errno, "join a user namespace: %s",
                         strerror(errno));
    return keep_capabilities(fault);
}

static int open_namespace(pid_t pid, int *ret_fd, fault_t *fault)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/ns/user", (int) pid);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd >= 0
               ? 0
               : fault_set(fault, errno, "%s: %s", path, strerror(errno));
}

/* ---- a new one ---- */

/* Stays in a namespace without maps, as the child, until its parent closes the
 * other end of the socket. */
static _Noreturn void hold(int socket, int other)
{
    int code = 0;
    char end;

    close(other);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (unshare(CLONE_NEWUSER) < 0)
        code = errno;
    if (write(socket, &code, sizeof code) == (ssize_t) sizeof code)
        (void) !read(socket, &end, 1);
    _exit(0);
}

static void wait_for(pid_t pid, int *ret_status)
{
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        continue;
}

/* Reads the pipe to its end, and keeps one line of it. */
static void read_said(int fd, char *ret_text, size_t size)
{
    char piece[256];
    size_t length = 0;
    ssize_t got;

    while ((got = read(fd, piece, sizeof piece)) > 0
           || (got < 0 && errno == EINTR))
        for (ssize_t i = 0; i < got; i++)
            if (length + 1 < size)
                ret_text[length++] =
                    piece[i] >= ' ' && piece[i] <= '~' ? piece[i] : ' ';
    ret_text[length] = '\0';
}

/* Runs one of shadow's programs, found by PATH as a user would find it. */
static int run(const char *program, pid_t pid, unsigned own,
               const subid_t *range, fault_t *fault)
{
    cleanup_free char *name = mem_text(program);
    cleanup_free char *target = mem_format("%d", (int) pid);
    cleanup_free char *self = mem_format("%u", own);
    cleanup_free char *first = mem_format("%" PRIu64, range->first);
    cleanup_free char *count = mem_format("%" PRIu64, range->count);
    char *const argv[] = {name,  target, self,  self, (char[]){"1"},
                          first, first,  count, NULL};
    posix_spawn_file_actions_t actions;
    char said[SAID_MAX];
    int pipe_fds[2];
    int status = -1;
    int code;
    pid_t child;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 2);
    code = posix_spawnp(&child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    if (code == 0) {
        read_said(pipe_fds[0], said, sizeof said);
        wait_for(child, &status);
    }
    close(pipe_fds[0]);
    if (code == ENOENT)
        return fault_set(fault, code,
                         "there is no %s; install it (Debian: uidmap)",
                         program);
    if (code != 0)
        return fault_set(fault, code, "%s: %s", program, strerror(code));
    return status == 0
               ? 0
               : fault_set(fault, EPERM, "%s refused: %s", program, said);
}

static int map_and_join(pid_t pid, int socket, const subid_t *range,
                        fault_t *fault)
{
    cleanup_fd int namespace_fd = -1;
    int code = ECHILD;
    int r;

    if (read(socket, &code, sizeof code) != (ssize_t) sizeof code || code != 0)
        return fault_set(fault, code, "a user namespace: %s", strerror(code));
    if ((r = run("newuidmap", pid, geteuid(), range, fault)) < 0
        || (r = run("newgidmap", pid, getegid(), range, fault)) < 0
        || (r = open_namespace(pid, &namespace_fd, fault)) < 0)
        return r;
    return join(namespace_fd, fault);
}

int user_namespace_new(const subid_t *range, fault_t *fault)
{
    int pair[2];
    int status;
    pid_t pid;
    int r;

    /* The parent process may have set SIGCHLD to be ignored. */
    signal(SIGCHLD, SIG_DFL);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return fault_set(fault, errno, "socketpair: %s", strerror(errno));
    pid = fork();
    if (pid == 0)
        hold(pair[1], pair[0]);
    close(pair[1]);
    r = pid < 0 ? fault_set(fault, errno, "fork: %s", strerror(errno))
                : map_and_join(pid, pair[0], range, fault);
    close(pair[0]);
    if (pid > 0)
        wait_for(pid, &status);
    return r;
}

/* ---- an earlier gateway's ---- */

int user_namespace_join(pid_t session, fault_t *fault)
{
    cleanup_fd int inner = -1, outer = -1;
    struct stat there, here;
    uid_t owner;
    int r = open_namespace(session, &inner, fault);

    if (r < 0)
        return r;
    /* Refused if the session's namespace is a direct child of this process's
     * own. */
    outer = ioctl(inner, NS_GET_PARENT);
    if (outer < 0 || fstat(outer, &there) < 0
        || stat("/proc/self/ns/user", &here) < 0)
        return fault_set(fault, errno, "the namespace of process %d: %s",
                         (int) session, strerror(errno));
    if (there.st_dev == here.st_dev && there.st_ino == here.st_ino)
        return fault_set(fault, ENOENT, "process %d needs no user namespace",
                         (int) session);
    if (ioctl(outer, NS_GET_OWNER_UID, &owner) < 0 || owner != geteuid())
        return fault_set(fault, EPERM,
                         "the user namespace of process %d is another user's",
                         (int) session);
    return join(outer, fault);
}

/* ---- which range ---- */

/* Reads a map of two extents, in either order: the own number, and the
 * range. */
static int read_map(const char *path, unsigned own, subid_t *ret_range,
                    fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    uint64_t inside[3], outside[3], count[3];
    int one, got;
    int r = file_read(path, MAP_MAX, &text, fault);

    if (r < 0)
        return r;
    buffer_append(&text, "", 1);
    got = sscanf((const char *) text.data,
                 "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                 " %" SCNu64 " %" SCNu64,
                 &inside[0], &outside[0], &count[0], &inside[1], &outside[1],
                 &count[1], &inside[2]);
    one = got == 6 && inside[0] == own && count[0] == 1 ? 0 : 1;
    if (got != 6 || inside[one] != own || count[one] != 1
        || inside[0] != outside[0] || inside[1] != outside[1])
        return fault_set(fault, EPROTO,
                         "%s is not a map of this gateway's: %.80s", path,
                         (const char *) text.data);
    *ret_range = (subid_t){inside[!one], count[!one]};
    return 0;
}

int user_namespace_range(subid_t *ret_range, fault_t *fault)
{
    subid_t users, groups;
    int r;

    if ((r = read_map("/proc/self/uid_map", geteuid(), &users, fault)) < 0
        || (r = read_map("/proc/self/gid_map", getegid(), &groups, fault)) < 0)
        return r;
    if (users.first != groups.first || users.count != groups.count
        || users.count < SUBID_MIN)
        return fault_set(fault, EPROTO,
                         "users and groups of this namespace differ");
    *ret_range = users;
    return 0;
}

int user_namespace_try(const subid_t *range, fault_t *fault)
{
    fault_t found = {ECHILD, "the trial ended"};
    int pipe_fds[2];
    int status;
    pid_t pid;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "pipe: %s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        found = (fault_t){0, ""};
        (void) user_namespace_new(range, &found);
        _exit(write(pipe_fds[1], &found, sizeof found) < 0 ? EXIT_FAILED : 0);
    }
    close(pipe_fds[1]);
    if (pid > 0) {
        (void) !read(pipe_fds[0], &found, sizeof found);
        wait_for(pid, &status);
    }
    close(pipe_fds[0]);
    return found.code == 0 ? 0 : fault_set(fault, found.code, "%s", found.text);
}
