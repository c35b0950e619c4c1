/* The folders above a path in a workspace: made for what comes there, and
 * removed if it does not come. */
#ifndef HEARTH_GATEWAY_FILES_PARENTS_H
#define HEARTH_GATEWAY_FILES_PARENTS_H

#include "base/fault.h"

#include <stdint.h>

#define PARENTS_FOLDER_BYTES                                                   \
    4096 /* what a new folder takes on most file systems */

/* Counts the folders above the path that are not there. */
uint64_t parents_count_missing(int root, const char *path);
/* Refuses a path above which something is that is no folder; makes nothing. */
int parents_check(int root, const char *path, fault_t *fault);
/* Makes the folders above the path, unless parents_check refuses it. */
int parents_make(int root, const char *path, fault_t *fault);
/* Removes the last `count` folders above the path, as far as they are empty. */
void parents_remove(int root, const char *path, uint64_t count);

#endif
