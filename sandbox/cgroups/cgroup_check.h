/* Compares a leaf with what it is meant to hold. */
#ifndef HEARTH_SANDBOX_CGROUPS_CGROUP_CHECK_H
#define HEARTH_SANDBOX_CGROUPS_CGROUP_CHECK_H

#include "sandbox/cgroups/cgroup.h"

/* Does cgroup_check for a leaf in these folders; `lines` is
 * /proc/PID/cgroup. */
int cgroup_check_in(char *const folders[CGROUP_HIERARCHIES], bool is_v2,
                    const char *lines, pid_t pid, const cgroup_limits_t *limits,
                    fault_t *fault);

#endif
