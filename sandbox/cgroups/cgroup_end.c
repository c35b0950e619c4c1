/* See cgroup_end.h. */
#include "sandbox/cgroups/cgroup_end.h"
#include "sandbox/cgroups/cgroup_fs.h"
#include "sandbox/cgroups/cgroup_tree.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REMOVE_MS   200 /* for processes that are dying */
#define KILL_ROUNDS 8   /* without a freezer a fork may race with us */

static const char *processes_folder(char *const *folders, bool is_v2)
{
    /* The pids hierarchy has no processes of others either. */
    return folders[is_v2 ? 0 : HIERARCHY_PIDS];
}

/* Sends one signal to each process; returns how many there were. */
static size_t kill_each(char *const *folders, bool is_v2)
{
    cleanup_free char *path =
        mem_format("%s/cgroup.procs", processes_folder(folders, is_v2));
    FILE *file = fopen(path, "re");
    size_t count = 0;
    int pid;

    while (file && fscanf(file, "%d", &pid) == 1) {
        if (pid > 0)
            (void) kill(pid, SIGKILL);
        count++;
    }
    if (file)
        fclose(file);
    return count;
}

void cgroup_end_kill(char *const folders[CGROUP_HIERARCHIES], bool is_v2)
{
    bool is_frozen = false;
    fault_t fault;

    if (is_v2 && cgroup_write(folders[0], "cgroup.kill", "1", &fault) == 0)
        return;
    if (!is_v2 && folders[HIERARCHY_FREEZER])
        is_frozen = cgroup_write(folders[HIERARCHY_FREEZER], "freezer.state",
                                 "FROZEN", &fault)
                    == 0;
    for (int round = 0; round < (is_frozen ? 1 : KILL_ROUNDS); round++)
        if (!kill_each(folders, is_v2))
            break;
    if (is_frozen)
        (void) cgroup_write(folders[HIERARCHY_FREEZER], "freezer.state",
                            "THAWED", &fault);
}

int cgroup_end_try_remove(char *const folders[CGROUP_HIERARCHIES],
                          fault_t *fault)
{
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++)
        if (folders[i] && rmdir(folders[i]) < 0 && errno != ENOENT)
            return fault_set(fault, errno, "remove %s: %s", folders[i],
                             strerror(errno));
    return 0;
}

/* Returns the first process in the leaf; 0 if none is seen. */
static pid_t first_process(char *const *folders, bool is_v2)
{
    cleanup_free char *path =
        mem_format("%s/cgroup.procs", processes_folder(folders, is_v2));
    FILE *file = fopen(path, "re");
    int pid = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%d", &pid) != 1)
        pid = 0;
    fclose(file);
    return pid;
}

/* Waits until the process has ended. Returns false if it had ended before, or
 * does not end in time. A process leaves its control group before its pidfd is
 * readable. */
static bool await_end(pid_t pid, int64_t deadline_ms)
{
    cleanup_fd int fd = pid > 0 ? (int) syscall(SYS_pidfd_open, pid, 0) : -1;
    int64_t left_ms = deadline_ms - clock_monotonic_ms();
    struct pollfd end = {.fd = fd, .events = POLLIN};

    return fd >= 0 && left_ms > 0 && poll(&end, 1, (int) left_ms) == 1;
}

int cgroup_end_remove(char *const folders[CGROUP_HIERARCHIES], bool is_v2,
                      fault_t *fault)
{
    int64_t deadline_ms = clock_monotonic_ms() + REMOVE_MS;
    pid_t last = 0;
    int r;

    while ((r = cgroup_end_try_remove(folders, fault)) == -EBUSY) {
        pid_t pid = first_process(folders, is_v2);

        if (pid == last || !await_end(pid, deadline_ms))
            break;
        last = pid;
    }
    return r;
}
