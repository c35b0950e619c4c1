/* Removes what is in a folder, a part at a time, for threads that have other
 * things to do, too. Whatever untrusted code left there or changes meanwhile is
 * the normal case: no link is followed, no nesting is too deep. */
#ifndef HEARTH_BASE_TREE_H
#define HEARTH_BASE_TREE_H

#include "base/cleanup.h"
#include "base/fault.h"

typedef struct tree_removal tree_removal_t;

/* Begins to empty a folder. The descriptor stays the caller's, and may be one
 * of O_PATH. */
int tree_removal_new(int folder, tree_removal_t **ret_removal, fault_t *fault);
void tree_removal_destroy(tree_removal_t **self_p);
#define cleanup_tree_removal CLEANUP(tree_removal_destroy)

/* Looks at up to `entries` more, and removes them. Returns 1 if the folder is
 * empty, and 0 before; -EPERM or the like if something cannot be removed. The
 * caller bounds the number of steps: a process may make files faster than they
 * are removed. */
int tree_removal_step(tree_removal_t *self, unsigned entries, fault_t *fault);

#endif
