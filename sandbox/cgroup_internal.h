/* What cgroup.c (leaves) and cgroups.c (their tree) share. */
#ifndef HEARTH_SANDBOX_CGROUP_INTERNAL_H
#define HEARTH_SANDBOX_CGROUP_INTERNAL_H

#include "sandbox/cgroup.h"

#define REMOVE_MAX 40 /* tries */

struct cgroups {
    cgroup_mode_t mode; /* V2, V1 or NONE */
    char *prefix;       /* owned; of the leaves' names */
    /* Owned; where leaves are made. Version 2: the first alone; version 1: by
     * hierarchy, NULL where there is none, or where it is mounted together with
     * an earlier one. */
    char *folders[CGROUP_HIERARCHIES];
    char *where;    /* owned; for people */
    gid_t admitted; /* whose processes may be born in leaves; 0: the owner's */
};

enum {
    HIERARCHY_MEMORY, /* version 2's only one, too */
    HIERARCHY_PIDS,
    HIERARCHY_CPU,
    HIERARCHY_CPUACCT,
    HIERARCHY_FREEZER
};

/* Writes `text` to <folder>/<file>, which must be there. */
int cgroup_write(const char *folder, const char *file, const char *text,
                 fault_t *fault);
/* Members of that group (of users) may move processes into the folder's. */
int cgroup_admit(const char *folder, gid_t gid, fault_t *fault);
/* cgroup_check of a leaf in these folders; `lines` is /proc/PID/cgroup. */
int cgroup_check_in(char *const folders[CGROUP_HIERARCHIES], bool is_v2,
                    const char *lines, pid_t pid, const cgroup_limits_t *limits,
                    fault_t *fault);
/* cgroup_remove with so many tries. */
int cgroup_remove_in(const cgroup_t *self, int tries, fault_t *fault);

#endif
