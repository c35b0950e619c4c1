/* Control groups: what bounds a session as a whole. One leaf for each session,
 * made ahead of the fork beside the gateway's own, not below a group of all
 * sessions: there one that takes all it gets would make the others wait for
 * the share of all. The launch enters it (sandbox_launch_t). Both versions of
 * Linux behind one face, or neither: the caller is told which. Used by the
 * trusted parent alone; knows no more of a session than its name. */
#ifndef HEARTH_SANDBOX_CGROUP_H
#define HEARTH_SANDBOX_CGROUP_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum {
    CGROUP_AUTO, /* as a wish: the best that can be had */
    CGROUP_V2,
    CGROUP_V1,
    CGROUP_NONE
} cgroup_mode_t;

#define CGROUP_HIERARCHIES 5 /* of version 1; version 2 has one */

const char *cgroup_mode_name(cgroup_mode_t mode);

/* ---- the tree ---- */

typedef struct cgroups cgroups_t;

/* Finds where leaves can be made: `mount` is "/sys/fs/cgroup", `self` is
 * "/proc/self/cgroup" but in tests. `prefix`, before the names of leaves, keeps
 * those of several callers apart. Version 2 needs a delegated group: the caller
 * is moved into its child `gateway`, since a group with members cannot share
 * out its controllers. CGROUP_AUTO never fails for want of a hierarchy; another
 * wish does, with the sentence that says why. */
int cgroups_new(const char *mount, const char *self, cgroup_mode_t wish,
                const char *prefix, cgroups_t **ret_cgroups, fault_t *fault);
/* Frees it; the leaves stay. */
void cgroups_destroy(cgroups_t **self_p);
#define cleanup_cgroups CLEANUP(cgroups_destroy)

/* Processes of this group (of users) are born into leaves too, by version 2,
 * without any privilege: before the first leaf is made. */
int cgroups_admit(cgroups_t *self, gid_t gid, fault_t *fault);

cgroup_mode_t cgroups_mode(const cgroups_t *self);
/* The folder of the leaves, or why there are none. */
const char *cgroups_where(const cgroups_t *self);
/* Ends and removes every leaf that `is_kept` does not want; the number of
 * those that were removed. One whose processes are still dying stays unless
 * `waits`, which may take a moment for each: `ret_left` is not 0 then. */
size_t cgroups_sweep(const cgroups_t *self, bool waits,
                     bool (*is_kept)(void *argument, const char *name),
                     void *argument, size_t *ret_left);

/* ---- a leaf ---- */

typedef struct cgroup cgroup_t;

/* In each, 0: not limited. */
typedef struct {
    uint64_t memory;      /* bytes of all processes, tmpfs included; no swap */
    uint64_t processes;   /* processes and threads */
    uint64_t cpu_percent; /* of one processor */
    uint64_t cpu_weight;  /* 1 to 10000, 100 is usual: the share when scarce */
    uint64_t io_weight;   /* the same of disks; version 2 alone has it */
} cgroup_limits_t;

typedef struct {
    uint64_t memory;        /* bytes */
    uint64_t memory_peak;   /* bytes; since the last cgroup_reset_peak */
    uint64_t memory_kills;  /* processes that were ended for their memory */
    uint64_t processes;     /* and threads, now */
    uint64_t fork_refusals; /* for the limit of processes */
    uint64_t cpu_us;        /* processor time of all, ended ones too */
} cgroup_usage_t;

/* A new, empty leaf with these limits. -EEXIST: there is one of that name. A
 * limit that cannot be set is a failure, and nothing is left. */
int cgroup_new(const cgroups_t *tree, const char *name,
               const cgroup_limits_t *limits, cgroup_t **ret_cgroup,
               fault_t *fault);
/* The leaf that another gateway made. -ENOENT: it is gone. */
int cgroup_open(const cgroups_t *tree, const char *name, cgroup_t **ret_cgroup,
                fault_t *fault);
/* Frees it; the leaf stays. */
void cgroup_destroy(cgroup_t **self_p);
#define cleanup_cgroup CLEANUP(cgroup_destroy)

/* Anew, for a leaf whose group lost its controllers meanwhile, or for limits
 * that are others by now. */
int cgroup_limit(const cgroup_t *self, const cgroup_limits_t *limits,
                 fault_t *fault);

const char *cgroup_name(const cgroup_t *self);
/* Whether the process (as the caller counts) is in the leaf, by every hierarchy
 * that the leaf has, and whether the leaf's files say these limits (NULL: they
 * are not looked at). -EPROTO: what differs first, in words. */
int cgroup_check(const cgroup_t *self, pid_t pid, const cgroup_limits_t *limits,
                 fault_t *fault);
/* Descriptors for the launch, to be closed by the caller: version 2 has one,
 * the leaf's folder; version 1 the `tasks` file of each hierarchy. */
int cgroup_entries(const cgroup_t *self, int ret_fds[CGROUP_HIERARCHIES],
                   size_t *ret_count, fault_t *fault);
/* What cannot be read is 0. The processor time is read first: what happens
 * meanwhile is in the others, or is seen by that it grows. */
void cgroup_usage(cgroup_t *self, cgroup_usage_t *ret_usage);
/* The last of them alone; opens a file less for it than a cell does. */
uint64_t cgroup_cpu_us(const cgroup_t *self);
/* Two of the figures alone, cheaply: for every cell. Their files stay open. The
 * second may be NULL. */
void cgroup_cost(cgroup_t *self, uint64_t *ret_cpu_us,
                 uint64_t *ret_memory_peak);
/* Closes them until they are read again. */
void cgroup_rest(cgroup_t *self);
/* False where the system does not offer it (version 2 before Linux 6.12). */
bool cgroup_reset_peak(cgroup_t *self);
/* SIGKILL to every process inside, also to those that fork meanwhile. */
void cgroup_kill(const cgroup_t *self);
/* -EBUSY: not all of its processes have gone yet. Missing is success. */
int cgroup_remove(const cgroup_t *self, fault_t *fault);

#endif
