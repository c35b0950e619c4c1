/* The names of the walls, for whoever speaks of them, and what a kernel has of
 * one that not all have. */
#ifndef HEARTH_SANDBOX_WALLS_H
#define HEARTH_SANDBOX_WALLS_H

#include <stdbool.h>
#include <stddef.h>

/* A wall by its name, in THREATS.md and in the configuration. */
typedef struct {
    const char *name;
    const char *is;
    bool can_be_left_out; /* for tests, once it is accepted */
    bool can_be_missing;  /* where that is accepted; without the others no
                             session begins on a system that has them not */
} sandbox_wall_t;

/* In turn, from 0 on; NULL behind the last. */
const sandbox_wall_t *sandbox_wall(size_t index);
/* Of this kernel; 0: it has no Landlock, and errno says why. */
int sandbox_landlock_abi(void);

#endif
