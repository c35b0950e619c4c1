/* The names of the walls, for whoever speaks of them. */
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

#endif
