/* The private root's own folders, links and files: what is in it before
 * anything is mounted there. All paths are absolute inside; `root` is its
 * descriptor. */
#ifndef HEARTH_SANDBOX_LAUNCH_ROOT_FILES_H
#define HEARTH_SANDBOX_LAUNCH_ROOT_FILES_H

#include "base/fault.h"

#include <stdbool.h>

/* Makes them all; `cpus_online` is the text of a file in /sys. */
int root_files_make(int root, const char *cpus_online, fault_t *fault);
/* Makes an empty folder or file, over which a tree can be mounted, and the
 * folders above it. One that exists is kept. A link there is not followed. */
int root_files_add_place(int root, const char *path, bool is_folder,
                         fault_t *fault);
/* Makes a symbolic link, and the folders above it. */
int root_files_add_link(int root, const char *path, const char *target,
                        fault_t *fault);

#endif
