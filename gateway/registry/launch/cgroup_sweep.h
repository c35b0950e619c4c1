/* The control groups of sessions: where they are, and the removal of groups of
 * gone sessions. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_CGROUP_SWEEP_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_CGROUP_SWEEP_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/options.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/launch/prealloc.h"
#include "sandbox/cgroups/cgroup.h"

#include <czmq.h>

typedef struct cgroup_sweep cgroup_sweep_t;

/* Finds or makes the groups of this gateway; the caller owns them. Called
 * before the zygotes start, which are to be in the gateway's own group. */
int cgroup_sweep_find(const options_t *options, cgroups_t **ret_cgroups,
                      fault_t *fault);
/* Returns what holds the limits: "v2", "v1" or "watchdog". */
const char *cgroup_sweep_limits_by(const cgroups_t *cgroups);

/* Returns the removal of this gateway's groups, which the caller owns. All
 * arguments are borrowed. */
cgroup_sweep_t *cgroup_sweep_new(zloop_t *loop, const cgroups_t *cgroups,
                                 const session_table_t *table,
                                 const prealloc_t *prealloc);
void cgroup_sweep_destroy(cgroup_sweep_t **self_p);
#define cleanup_cgroup_sweep CLEANUP(cgroup_sweep_destroy)

/* Takes the name of a group whose kernel has ended, for removal in a moment,
 * although its session may live on in another group. */
void cgroup_sweep_take(cgroup_sweep_t *self, const char *name);
/* Removes groups without a session now, and waits a little for those whose
 * processes are still ending. */
void cgroup_sweep_run(cgroup_sweep_t *self);
/* Does the same in a moment, and again until no group of a gone session is
 * left. */
void cgroup_sweep_run_soon(cgroup_sweep_t *self);

#endif
