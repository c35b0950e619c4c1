/* Makes folders, links and files in a workspace where nothing is yet: what is
 * there already is -EEXIST, and stays as it is. They belong to the workspace's
 * owner. `root` is the workspace; `parent` the folder, opened by
 * beneath_parent; `name` one component. -ESTALE if the session has put
 * something else in its place at once. */
#ifndef HEARTH_WORKSPACE_NEW_ENTRY_H
#define HEARTH_WORKSPACE_NEW_ENTRY_H

#include "base/fault.h"

#include <sys/types.h>

/* Makes a folder of mode 0755 and opens it for reading. */
int new_entry_folder(int root, int parent, const char *name, int *ret_fd,
                     fault_t *fault);
int new_entry_link(int root, int parent, const char *name, const char *target,
                   fault_t *fault);
/* Makes a file of that mode and opens it for writing. */
int new_entry_file(int root, int parent, const char *name, mode_t mode,
                   int *ret_fd, fault_t *fault);

#endif
