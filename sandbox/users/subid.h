/* The uid and gid ranges that /etc/subuid and /etc/subgid give to a user. */
#ifndef HEARTH_SANDBOX_USERS_SUBID_H
#define HEARTH_SANDBOX_USERS_SUBID_H

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SUBID_MIN 3 /* the session's, pid 1's, and one to spare */

typedef struct {
    uint64_t first, count; /* count 0: none */
} subid_t;

/* Returns the longest range that both texts (subuid(5)) give to the user, by
 * name (NULL: it has none) or number: the same numbers as users and as groups.
 */
subid_t subid_common(const char *users, const char *groups, const char *name,
                     uid_t uid);

/* Returns true if a line of that map (user_namespaces(7)) has the whole range.
 */
bool subid_covers(const char *map, subid_t range);

/* Returns true if the numbers of that range are users and groups in this
 * process's user namespace; in a container they may not be. If not,
 * *ret_longest is the longest range of users that are, from 1000 on. */
bool subid_is_mapped(subid_t range, subid_t *ret_longest);

/* Finds the range of this process's user. -ENOENT without a range, or if it has
 * fewer numbers than SUBID_MIN; -EINVAL if it contains the user's own number.
 * The fault says how to get a range. */
int subid_find(subid_t *ret_range, fault_t *fault);

#endif
