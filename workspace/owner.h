/* Whose a workspace is: what one user's processes made in it becomes another
 * user's. For a session that lives nowhere, so that nobody is in the way;
 * links are not followed, and what others own stays theirs. */
#ifndef HEARTH_WORKSPACE_OWNER_H
#define HEARTH_WORKSPACE_OWNER_H

#include "base/fault.h"

#include <sys/types.h>

/* The folder and all in it that belongs to `from` belongs to `uid` and `gid`
 * then. Takes the right to give files away, and that to read them. -ETIMEDOUT
 * after `limit_ms`, with the rest as it was; the first failure is told when
 * all has been tried. */
int owner_change(const char *folder, uid_t from, uid_t uid, gid_t gid,
                 int limit_ms, fault_t *fault);

#endif
