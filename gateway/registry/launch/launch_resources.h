/* The resources of a launch that its session's thread does not make: the
 * sockets at which the kernel and its pid 1 will listen, and a control group.
 * Made ahead where there is time (prealloc.h). */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_RESOURCES_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_RESOURCES_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "sandbox/cgroups/cgroup.h"

typedef struct {
    int link_fd, init_fd;   /* owned; -1: none */
    cgroup_t *group;        /* owned, or NULL */
    cgroup_limits_t limits; /* of the group */
} launch_resources_t;

#define LAUNCH_RESOURCES_NONE                                                  \
    {                                                                          \
        .link_fd = -1, .init_fd = -1                                           \
    }

/* Makes listening sockets in the session's runtime folder. */
int launch_resources_listen(launch_resources_t *self,
                            const char *runtime_folder, fault_t *fault);
/* Makes a group of the session's own with these limits; none if the machine has
 * no control groups. */
int launch_resources_make_group(launch_resources_t *self, const cgroups_t *tree,
                                const char *id, const cgroup_limits_t *limits,
                                fault_t *fault);
/* Closes descriptors and handles; the group stays. */
void launch_resources_clear(launch_resources_t *self);
#define cleanup_launch_resources CLEANUP(launch_resources_clear)
/* Closes descriptors like launch_resources_clear, and removes the group. */
void launch_resources_discard(launch_resources_t *self);

#endif
