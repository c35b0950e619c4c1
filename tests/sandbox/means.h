/* What a machine must have for a launch to be possible, asked of the system
 * alone: nothing of sandbox/ is called here, so that a launch that fails for a
 * fault of its own is not taken for a machine that lacks something. */
#ifndef HEARTH_TESTS_SANDBOX_MEANS_H
#define HEARTH_TESTS_SANDBOX_MEANS_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

#define MEANS_NAMESPACES                                                       \
    (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS   \
     | CLONE_NEWCGROUP)

/* Known to the system and permitted; -1 is no descriptor. */
static inline bool means_has_call(long number)
{
    return syscall(number, -1, "", 0, NULL, 0) >= 0
           || (errno != ENOSYS && errno != EPERM);
}

static inline bool means_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) >= 0;

    if (fd >= 0)
        close(fd);
    return done;
}

static inline bool means_map_user(unsigned uid, unsigned gid)
{
    char users[32];
    char groups[32];

    snprintf(users, sizeof users, "0 %u 1", uid);
    snprintf(groups, sizeof groups, "0 %u 1", gid);
    return means_write("/proc/self/setgroups", "deny")
           && means_write("/proc/self/uid_map", users)
           && means_write("/proc/self/gid_map", groups);
}

static inline bool means_has_proc(void)
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
              || mount("proc", "/proc", "proc",
                       MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)
                     < 0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static const char *const means_names[] = {
    "user namespaces for this user",
    "maps of them",
    "the other namespaces in one",
    "/proc of one's own (another one is partly covered)",
    "open_tree",
    "mount_setattr",
    "Landlock",
    "filters of system calls",
};

/* In a child: the number of the first that is missing, from 1 on. */
static inline int means_look(void)
{
    unsigned uid = geteuid();
    unsigned gid = getegid();

    if (unshare(CLONE_NEWUSER) < 0)
        return 1;
    if (!means_map_user(uid, gid))
        return 2;
    if (unshare(MEANS_NAMESPACES) < 0)
        return 3;
    if (!means_has_proc())
        return 4;
    if (!means_has_call(SYS_open_tree))
        return 5;
    if (!means_has_call(SYS_mount_setattr))
        return 6;
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
        return 7;
    return prctl(PR_GET_SECCOMP) < 0 ? 8 : 0;
}

/* NULL: nothing is missing. */
static inline const char *means_missing(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(means_look());
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return "processes";
    return WEXITSTATUS(status) ? means_names[WEXITSTATUS(status) - 1] : NULL;
}

#endif
