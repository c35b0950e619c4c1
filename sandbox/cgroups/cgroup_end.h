/* The end of a leaf: its processes are killed, its folders removed. */
#ifndef HEARTH_SANDBOX_CGROUPS_CGROUP_END_H
#define HEARTH_SANDBOX_CGROUPS_CGROUP_END_H

#include "sandbox/cgroups/cgroup.h"

/* Does cgroup_kill for a leaf in these folders. */
void cgroup_end_kill(char *const folders[CGROUP_HIERARCHIES], bool is_v2);
/* Does cgroup_try_remove for a leaf in these folders. */
int cgroup_end_try_remove(char *const folders[CGROUP_HIERARCHIES],
                          fault_t *fault);
/* Does cgroup_remove for a leaf in these folders. */
int cgroup_end_remove(char *const folders[CGROUP_HIERARCHIES], bool is_v2,
                      fault_t *fault);

#endif
