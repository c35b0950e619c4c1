/* A folder that only this user can write, at a path that no other user can lead
 * elsewhere: each folder and each link of the path belongs to root or to this
 * user. Must be used before this process enters a user namespace, where no file
 * has root's number. */
#ifndef HEARTH_GATEWAY_DISCOVERY_PRIVATE_FOLDER_H
#define HEARTH_GATEWAY_DISCOVERY_PRIVATE_FOLDER_H

#include "base/fault.h"

#include <stdbool.h>

/* Returns 0 if the path leads to such a folder. -ENOENT if it is missing;
 * -EPERM names the place that another user could change. */
int private_folder_check(const char *path, fault_t *fault);
/* Opens a folder that passes private_folder_check; the caller owns the
 * descriptor. With `makes`, a missing one is created with mode 0700, with its
 * parents. Whatever the path means later, the descriptor is this folder's. */
int private_folder_open(const char *path, bool makes, int *ret_fd,
                        fault_t *fault);

#endif
