/* The request for a launch to a zygote: the sockets at which the kernel and its
 * pid 1 listen, the control group, the workspace, the user. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_REQUEST_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_REQUEST_H

#include "base/fault.h"
#include "gateway/config/options.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/launch/prealloc.h"
#include "kernels/zygote.h"
#include "sandbox/cgroups/cgroup.h"

/* All borrowed. */
typedef struct {
    const options_t *options;
    const cgroups_t *cgroups;
    prealloc_t *prealloc;
    const launch_users_t *users;
} launch_request_needs_t;

/* Asks the zygote for a kernel of the session, by the launch's number. The
 * session's actor gets the news first, and connects to the listening sockets:
 * its greeting waits there for the kernel. */
int launch_request_send(const launch_request_needs_t *self, zygote_t *zygote,
                        session_entry_t *entry, uint64_t number,
                        fault_t *fault);

#endif
