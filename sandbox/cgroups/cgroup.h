/* Control groups, which bound a session as a whole. Each session has one leaf,
 * made before the fork, beside the gateway's own group. It is not below a group
 * of all sessions: there, one busy session would make the others wait for the
 * share of all. The launch enters the leaf (sandbox_launch_t). Hides the
 * differences of the two versions of Linux; reports if neither can be used.
 * Used only by the trusted parent; knows only a session's name. */
#ifndef HEARTH_SANDBOX_CGROUPS_CGROUP_H
#define HEARTH_SANDBOX_CGROUPS_CGROUP_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum {
    CGROUP_AUTO, /* only as a wish: the best that is available */
    CGROUP_V2,
    CGROUP_V1,
    CGROUP_NONE
} cgroup_mode_t;

#define CGROUP_HIERARCHIES 5 /* of version 1; version 2 has one */

const char *cgroup_mode_name(cgroup_mode_t mode);

/* ---- the tree ---- */

typedef struct cgroups cgroups_t;

/* Finds where leaves can be made: `mount` is "/sys/fs/cgroup", `self` is
 * "/proc/self/cgroup", except in tests. `prefix`, before the names of leaves,
 * separates several callers. Version 2 needs a delegated group: the caller is
 * moved into its child `gateway`, since a group with members cannot enable
 * controllers for others. CGROUP_AUTO never fails for want of a hierarchy;
 * another wish does, and the fault says why. */
int cgroups_new(const char *mount, const char *self, cgroup_mode_t wish,
                const char *prefix, cgroups_t **ret_cgroups, fault_t *fault);
/* Frees it; the leaves stay. */
void cgroups_destroy(cgroups_t **self_p);
#define cleanup_cgroups CLEANUP(cgroups_destroy)

/* Permits processes of this group (of users) to be created in leaves by version
 * 2, without any privilege. Must be called before the first leaf is made. */
int cgroups_admit(cgroups_t *self, gid_t gid, fault_t *fault);

cgroup_mode_t cgroups_mode(const cgroups_t *self);
/* Returns the folder of the leaves, or why there are none. */
const char *cgroups_where(const cgroups_t *self);
/* Ends and removes every leaf for which `is_kept` returns false; returns the
 * number of removed ones. A leaf whose processes are still dying is kept unless
 * `waits`, which may take a moment for each; then *ret_left is not 0. */
size_t cgroups_sweep(const cgroups_t *self, bool waits,
                     bool (*is_kept)(void *argument, const char *name),
                     void *argument, size_t *ret_left);

/* ---- a leaf ---- */

typedef struct cgroup cgroup_t;

/* A value of 0 is no limit. */
typedef struct {
    uint64_t memory;      /* bytes of all processes, tmpfs included; no swap */
    uint64_t processes;   /* processes and threads */
    uint64_t cpu_percent; /* of one processor */
    uint64_t cpu_weight;  /* 1 to 10000, 100 is usual: the share when scarce */
    uint64_t io_weight;   /* share of disks; only version 2 has it */
} cgroup_limits_t;

typedef struct {
    uint64_t memory;        /* bytes */
    uint64_t memory_peak;   /* bytes; since the last cgroup_reset_peak */
    uint64_t memory_kills;  /* processes that were ended for their memory */
    uint64_t processes;     /* and threads, now */
    uint64_t fork_refusals; /* for the limit of processes */
    uint64_t cpu_us;        /* processor time of all, ended ones too */
} cgroup_usage_t;

/* Makes an empty leaf with these limits. -EEXIST if there is one of that name.
 * If a limit cannot be set, it fails and nothing is left. */
int cgroup_new(const cgroups_t *tree, const char *name,
               const cgroup_limits_t *limits, cgroup_t **ret_cgroup,
               fault_t *fault);
/* Opens the leaf that another gateway made; -ENOENT if it was removed. */
int cgroup_open(const cgroups_t *tree, const char *name, cgroup_t **ret_cgroup,
                fault_t *fault);
/* Frees it; the leaf stays. */
void cgroup_destroy(cgroup_t **self_p);
#define cleanup_cgroup CLEANUP(cgroup_destroy)

/* Sets limits again: for a leaf whose group had lost its controllers, or for
 * new limits. */
int cgroup_limit(const cgroup_t *self, const cgroup_limits_t *limits,
                 fault_t *fault);

const char *cgroup_name(const cgroup_t *self);
/* Checks that the process (by the caller's pid) is in the leaf in every
 * hierarchy, and that the leaf's files have these limits (NULL: not checked).
 * -EPROTO: the fault has the first difference. */
int cgroup_check(const cgroup_t *self, pid_t pid, const cgroup_limits_t *limits,
                 fault_t *fault);
/* Returns descriptors for the launch, which the caller closes: version 2 has
 * one, the leaf's folder; version 1 the `tasks` file of each hierarchy. */
int cgroup_entries(const cgroup_t *self, int ret_fds[CGROUP_HIERARCHIES],
                   size_t *ret_count, fault_t *fault);
/* Reads all figures; one that cannot be read is 0. The processor time is read
 * first, so work done meanwhile is in the other figures or shows as growth. */
void cgroup_usage(cgroup_t *self, cgroup_usage_t *ret_usage);
/* Reads only the processor time; opens one file less than cgroup_cost. */
uint64_t cgroup_cpu_us(const cgroup_t *self);
/* Reads two of the figures cheaply, for every cell. Their files stay open. The
 * second may be NULL. */
void cgroup_cost(cgroup_t *self, uint64_t *ret_cpu_us,
                 uint64_t *ret_memory_peak);
/* Closes these files until they are read again. */
void cgroup_rest(cgroup_t *self);
/* Resets the peak; false if the system cannot (version 2 before Linux 6.12). */
bool cgroup_reset_peak(cgroup_t *self);
/* Sends SIGKILL to every process inside, also to those that fork meanwhile. */
void cgroup_kill(const cgroup_t *self);
/* Removes the leaf, and waits up to 200 ms for the end of processes that were
 * killed. Returns 0 if the leaf was missing, -EBUSY if processes are left. */
int cgroup_remove(const cgroup_t *self, fault_t *fault);
/* Does the same without waiting. */
int cgroup_try_remove(const cgroup_t *self, fault_t *fault);

#endif
