/* The users that sessions run as, one of a range for each, so that even an
 * escaped session has no rights over the others. Belongs to the main thread. */
#ifndef HEARTH_SANDBOX_USERS_UID_POOL_H
#define HEARTH_SANDBOX_USERS_UID_POOL_H

#include "base/cleanup.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct uid_pool uid_pool_t;

/* Makes a pool of `count` users, at least 1, from `first` on. */
uid_pool_t *uid_pool_new(uid_t first, uint64_t count);
void uid_pool_destroy(uid_pool_t **self_p);
#define cleanup_uid_pool CLEANUP(uid_pool_destroy)

/* Returns the user that has been unused for longest, as far as known; the first
 * one if all are in use. Does not hold it. */
uid_t uid_pool_choose(uid_pool_t *self);
/* Returns the group of a session with that user: this process's group for this
 * process's user, else the group of the same number. */
gid_t uid_pool_group(uid_t uid);
/* Notes that a session runs as this user, which may be outside of the range. */
void uid_pool_hold(uid_pool_t *self, uid_t uid);
void uid_pool_release(uid_pool_t *self, uid_t uid);

#endif
