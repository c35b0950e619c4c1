/* Writes the limits of a leaf to the files of its folders. */
#ifndef HEARTH_SANDBOX_CGROUPS_CGROUP_LIMITS_H
#define HEARTH_SANDBOX_CGROUPS_CGROUP_LIMITS_H

#include "sandbox/cgroups/cgroup.h"

/* Sets the limits that are not 0. A weight, and the limit of swap, may have no
 * file: then they do not count. -ENODEV: there is no controller for
 * `cpu_percent`. After another error, limits before it may be set. */
int cgroup_limits_write(char *const folders[CGROUP_HIERARCHIES], bool is_v2,
                        const cgroup_limits_t *limits, fault_t *fault);

#endif
