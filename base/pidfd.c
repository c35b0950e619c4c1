/* See pidfd.h. */
#include "base/pidfd.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAT_MAX 4096 /* bytes of /proc/PID/stat */

/* Counts the fields from the last parenthesis on, because the name in field 2
 * may contain anything. */
uint64_t pidfd_start_time(pid_t pid)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    char path[64];
    fault_t fault;
    const char *at;
    unsigned long long ticks = 0;

    snprintf(path, sizeof path, "/proc/%d/stat", (int) pid);
    if (file_read(path, STAT_MAX, &content, &fault) < 0 || !content.size)
        return 0;
    at = strrchr((const char *) content.data, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &ticks) != 1)
        return 0;
    return ticks;
}

int pidfd_find(pid_t pid, uint64_t start_time, int *ret_fd, fault_t *fault)
{
    cleanup_fd int fd = pid > 0 ? (int) syscall(SYS_pidfd_open, pid, 0) : -1;

    if (fd < 0)
        return fault_set(fault, pid > 0 ? errno : ESRCH, "process %d is gone",
                         (int) pid);
    /* Read after the pidfd is held: the number cannot be given to another
     * process between the two. */
    if (!start_time || pidfd_start_time(pid) != start_time)
        return fault_set(fault, ESRCH,
                         "process %d is a different process by now", (int) pid);
    *ret_fd = take_fd(&fd);
    return 0;
}

bool pidfd_ends(int fd, int wait_ms)
{
    struct pollfd look = {fd, POLLIN, 0};

    /* It is readable once its process has ended. */
    return poll(&look, 1, wait_ms) > 0;
}
