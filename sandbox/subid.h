/* The numbers that /etc/subuid and /etc/subgid lend to a user. */
#ifndef HEARTH_SANDBOX_SUBID_H
#define HEARTH_SANDBOX_SUBID_H

#include "base/fault.h"

#include <stdint.h>
#include <sys/types.h>

#define SUBIDS_MIN 3 /* a session's, pid 1's, and one to spare */

typedef struct {
    uint64_t first, count; /* count 0: none */
} subids_t;

/* The longest range that both texts (subuid(5)) lend to the user, by name
 * (NULL: it has none) or number: the same numbers as users and as groups. */
subids_t subids_common(const char *users, const char *groups, const char *name,
                       uid_t uid);

/* Those of this process's user. -ENOENT: there are none, or fewer than
 * SUBIDS_MIN; -EINVAL: they hold the user's own. The sentence says how to get
 * some. */
int subids_find(subids_t *ret_range, fault_t *fault);

#endif
