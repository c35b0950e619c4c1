/* The users that sessions run as, one for each out of a range, so that even an
 * escaped session is nobody to the others. Lives in the main thread. */
#ifndef HEARTH_SANDBOX_UID_POOL_H
#define HEARTH_SANDBOX_UID_POOL_H

#include "base/cleanup.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct users users_t;

/* `count` of them, 1 at least, from `first` on. */
users_t *users_new(uid_t first, uint64_t count);
void users_destroy(users_t **self_p);
#define cleanup_users CLEANUP(users_destroy)

/* The one that has been nobody's for longest, as far as that is known; the
 * first when all are somebody's. Not held yet. */
uid_t users_choose(users_t *self);
/* The group of a session with that user: this process's where the user is, and
 * else of the same number. */
gid_t users_group(uid_t uid);
/* Somebody runs as this user, which need not be of the range. */
void users_hold(users_t *self, uid_t uid);
void users_release(users_t *self, uid_t uid);

#endif
