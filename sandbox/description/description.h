/* The members of a sandbox_t. The launch reads it; only sandbox.c and walls.c
 * change it. */
#ifndef HEARTH_SANDBOX_DESCRIPTION_DESCRIPTION_H
#define HEARTH_SANDBOX_DESCRIPTION_DESCRIPTION_H

#include "sandbox/description/bind_sources.h"
#include "sandbox/description/sandbox.h"
#include "sandbox/filter/filter.h"

#include <stdbool.h>

/* In the order of the table in wall_table.c. */
typedef enum {
    WALL_NETWORK,
    WALL_IPC,
    WALL_UTS,
    WALL_CGROUP,
    WALL_READONLY,
    WALL_PROC,
    WALL_NESTED,
    WALL_DESCRIPTORS,
    WALL_LIMITS,
    WALL_CAPABILITIES,
    WALL_LANDLOCK,
    WALL_FILTER,
    WALL_INIT,
    WALL_USER,
    WALL_MOUNT,
    WALL_PID,
    WALL_NO_NEW_PRIVS,
} wall_t;

struct sandbox {
    sandbox_limits_t limits; /* for launches that bring none */
    sandbox_network_t network;
    unsigned accepted; /* walls that may be missing, a bit each */
    unsigned left_out; /* walls that are, though they could be there */
    mounts_t mounts;
    filter_t payload_filter;
    int init_image_fd; /* owned: pid 1's program, sealed */
};

/* Returns true if the launch may go on without the wall where the machine has
 * none. */
bool walls_may_lack(const sandbox_t *self, wall_t wall);
/* Returns false if the wall is left out on purpose. */
bool walls_has(const sandbox_t *self, wall_t wall);

#endif
