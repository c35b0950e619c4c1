/* A walk through a tree that untrusted code made and may be changing: each
 * folder before what is in it, links never followed, one open folder a level,
 * any number of steps at a time. */
#ifndef HEARTH_WORKSPACE_WALK_H
#define HEARTH_WORKSPACE_WALK_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define WALK_DEPTH_MAX 512 /* folders that are open at a time */

typedef struct walk walk_t;

typedef struct {
    const char *path; /* lent until the next step; bytes, from the start on */
    const char *name; /* its last component */
    struct stat status;
    bool is_unreadable; /* a folder whose insides stay unknown */
} walk_entry_t;

/* Begins a walk in `folder`, a descriptor that stays the caller's. Folders at
 * `depth_max` are reported and not entered: 1 stays in the first one. `forces`
 * gives mode u+rwx to a folder that its owner cannot read. */
int walk_new(int folder, size_t depth_max, bool forces, walk_t **ret_walk,
             fault_t *fault);
void walk_destroy(walk_t **self_p);
#define cleanup_walk CLEANUP(walk_destroy)

/* Goes to the next entry. Returns false at the end. */
bool walk_next(walk_t *self, walk_entry_t *ret_entry);
/* Returns true if a folder was left out because of depth_max. */
bool walk_is_cut(const walk_t *self);

#endif
