/* Trees of mounts as descriptors, by the new mount API: cloned or made, then
 * attached. No path of the host is walked when a tree is attached. */
#ifndef HEARTH_SANDBOX_LAUNCH_MOUNT_TREE_H
#define HEARTH_SANDBOX_LAUNCH_MOUNT_TREE_H

#include "base/fault.h"

#include <stdint.h>

typedef struct {
    const char *name; /* NULL ends the list */
    const char *value;
} mount_option_t;

/* Clones the mounts at `path` as they are, attached nowhere yet. An empty path
 * is the working directory; no right to it is needed. */
int mount_tree_clone(int folder, const char *path, int *ret_fd, fault_t *fault);
/* Makes a new file system of a kind, attached nowhere yet. */
int mount_tree_make(const char *kind, const mount_option_t *options,
                    unsigned attributes, int *ret_fd, fault_t *fault);
/* Adds MOUNT_ATTR_ bits to a tree; `flags` is AT_RECURSIVE or 0. The fault
 * names `what`. */
int mount_tree_restrict(int fd, uint64_t attributes, unsigned flags,
                        const char *what, fault_t *fault);
/* Attaches a tree to a place of the private root; `path` is absolute. */
int mount_tree_attach(int root, int tree, const char *path, fault_t *fault);

#endif
