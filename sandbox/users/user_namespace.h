/* The gateway's user namespace, for an ordinary user whose sessions have users
 * of their own: it has the user itself and the range that /etc/subuid gives it,
 * with the same numbers inside and outside. In it the gateway has over the
 * range the capabilities that the service has (etc/hearth.service.in), and none
 * over other users. The sessions of an earlier gateway keep its namespace
 * alive. The next gateway joins it, and so has the same power over them.
 *
 * All functions must be called before the process has threads. */
#ifndef HEARTH_SANDBOX_USERS_USER_NAMESPACE_H
#define HEARTH_SANDBOX_USERS_USER_NAMESPACE_H

#include "base/fault.h"
#include "sandbox/users/subid.h"

#include <sys/types.h>

/* Makes a user namespace, with newuidmap and newgidmap, and joins it. After a
 * failure the process is in its old one. */
int user_namespace_new(const subid_t *range, fault_t *fault);

/* Joins the user namespace in which a living session's was made. -ENOENT if the
 * process is in it already. */
int user_namespace_join(pid_t session, fault_t *fault);

/* Reads the range of the current user namespace from its maps. -EPROTO if
 * user_namespace_new did not write them. */
int user_namespace_range(subid_t *ret_range, fault_t *fault);

/* Tries user_namespace_new in a process that then ends; returns 0 if it would
 * work. */
int user_namespace_try(const subid_t *range, fault_t *fault);

#endif
