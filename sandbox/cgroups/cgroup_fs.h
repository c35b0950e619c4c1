/* Files in the folder of a control group. */
#ifndef HEARTH_SANDBOX_CGROUPS_CGROUP_FS_H
#define HEARTH_SANDBOX_CGROUPS_CGROUP_FS_H

#include "base/fault.h"

#include <stdbool.h>
#include <sys/types.h>

/* Writes `text` to <folder>/<file>, which must exist. */
int cgroup_write(const char *folder, const char *file, const char *text,
                 fault_t *fault);
/* Moves the caller's parent to the folder `leaf` if it is the only member of
 * the folder; returns false if it is not, or stays. */
bool cgroup_take_parent(const char *folder, const char *leaf);
/* Permits members of that group of users to move processes into the folder. */
int cgroup_admit(const char *folder, gid_t gid, fault_t *fault);

#endif
