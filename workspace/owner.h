/* Changes the owner of a workspace's files, of a session that has no processes.
 * Links are not followed. Files of other users keep their owner. */
#ifndef HEARTH_WORKSPACE_OWNER_H
#define HEARTH_WORKSPACE_OWNER_H

#include "base/fault.h"

#include <sys/types.h>

/* Gives the folder, and everything in it that belongs to `from`, to `uid` and
 * `gid`. The caller needs the right to give files away and to read them.
 * Returns -ETIMEDOUT after `limit_ms`; the rest is unchanged. Every file is
 * tried, then the first failure is returned. */
int owner_change(const char *folder, uid_t from, uid_t uid, gid_t gid,
                 int limit_ms, fault_t *fault);

#endif
