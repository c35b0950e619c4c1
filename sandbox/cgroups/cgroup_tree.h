/* Where the leaves of a gateway are: cgroups.c finds that out, cgroup.c makes
 * leaves there. */
#ifndef HEARTH_SANDBOX_CGROUPS_CGROUP_TREE_H
#define HEARTH_SANDBOX_CGROUPS_CGROUP_TREE_H

#include "sandbox/cgroups/cgroup.h"

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

#endif
