/* What a kernel needs at its launch and its session's thread does not make: the
 * sockets at which it and its pid 1 will listen, and a control group. Made
 * ahead where there is time (prealloc.h). */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_RESOURCES_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_RESOURCES_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "sandbox/cgroup.h"

typedef struct {
    int link_fd, init_fd;   /* owned; -1: none */
    cgroup_t *group;        /* owned; NULL: none */
    cgroup_limits_t limits; /* of the group */
} outfit_t;

#define OUTFIT_NONE                                                            \
    {                                                                          \
        .link_fd = -1, .init_fd = -1                                           \
    }

/* Listening sockets in the session's runtime folder. */
int outfit_listen(outfit_t *self, const char *runtime_folder, fault_t *fault);
/* A group of the session's own with these limits; none where `tree` has none.
 */
int outfit_make_group(outfit_t *self, const cgroups_t *tree, const char *id,
                      const cgroup_limits_t *limits, fault_t *fault);
/* Its descriptors and handles; the group stays. */
void outfit_clear(outfit_t *self);
#define cleanup_outfit CLEANUP(outfit_clear)
/* The group, too. */
void outfit_discard(outfit_t *self);

#endif
