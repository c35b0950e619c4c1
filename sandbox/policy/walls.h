/* The names of the walls, and which Landlock this kernel has. */
#ifndef HEARTH_SANDBOX_POLICY_WALLS_H
#define HEARTH_SANDBOX_POLICY_WALLS_H

#include <stdbool.h>
#include <stddef.h>

/* A wall by its name, in THREATS.md and in the configuration. */
typedef struct {
    const char *name;
    const char *is;
    bool can_be_left_out; /* for tests, if it is accepted */
    bool can_be_missing;  /* if that is accepted; without one of the others no
                             session begins */
} sandbox_wall_t;

/* Returns the walls in turn, from 0 on; NULL after the last. */
const sandbox_wall_t *sandbox_wall(size_t index);
/* Returns this kernel's Landlock version; 0 if it has no Landlock: errno says
 * why. */
int sandbox_landlock_abi(void);

#endif
