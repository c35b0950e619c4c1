/* Processes by their pidfd (pidfd_open(2)): a number that another process may
 * have got meanwhile is recognised by the time at which its process began. */
#ifndef HEARTH_BASE_PIDFD_H
#define HEARTH_BASE_PIDFD_H

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns when the process began, in clock ticks since boot (field 22 of
 * proc(5)'s /proc/PID/stat); 0 if there is no such process. */
uint64_t pidfd_start_time(pid_t pid);
/* Opens the process `pid` that began at `start_time`; the caller closes
 * *ret_fd. -ESRCH if it has ended, or if its number is another's by now. */
int pidfd_find(pid_t pid, uint64_t start_time, int *ret_fd, fault_t *fault);
/* Returns true if the process ends within `wait_ms`, or has ended. */
bool pidfd_ends(int fd, int wait_ms);

#endif
