/* The folder of a worker of downloads, which a key such as packages/dir names:
 * checked in the same way by the gateway's start and by hearth doctor. Each
 * fault begins with the key. */
#ifndef HEARTH_GATEWAY_CONFIG_WORKER_PLACE_H
#define HEARTH_GATEWAY_CONFIG_WORKER_PLACE_H

#include "base/fault.h"

#include <sys/types.h>

/* Returns 0 if the folder belongs to the user, no other user can write to it.
 * -ENOENT if it is not there; -ENOTDIR, -EPERM: the fault says what to do. */
int worker_place_check(const char *key, const char *path, uid_t owner,
                       fault_t *fault);
/* Returns 0 if the user can enter the folder by its path. -EACCES names the
 * first folder that the user cannot enter, and the remedy. */
int worker_place_reach(const char *key, const char *path, uid_t user,
                       fault_t *fault);

#endif
