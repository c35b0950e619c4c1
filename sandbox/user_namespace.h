/* A user namespace of the gateway's, for an ordinary user whose sessions have
 * users of their own: the user itself and the range that /etc/subuid lends it,
 * under the same numbers inside and outside. Within, the gateway has over the
 * range what the service has over its own (etc/hearth.service.in), and nothing
 * over anybody else. A gateway of before has left its namespace to the sessions
 * that live in it, which keep it alive: the next one joins it, and so has the
 * hold on them that the one before had.
 *
 * All of it before the process has threads. */
#ifndef HEARTH_SANDBOX_USER_NAMESPACE_H
#define HEARTH_SANDBOX_USER_NAMESPACE_H

#include "base/fault.h"
#include "sandbox/subid.h"

#include <sys/types.h>

/* Makes one, with newuidmap and newgidmap, and joins it. After a failure the
 * process is where it was. */
int realm_new(const subids_t *range, fault_t *fault);

/* Joins the one that a living session's is made in. -ENOENT: that is the one
 * this process is in already. */
int realm_join(pid_t session, fault_t *fault);

/* The range of the one that this process is in, from its maps. -EPROTO: they
 * are none of realm_new's. */
int realm_range(subids_t *ret_range, fault_t *fault);

/* Whether realm_new would do, tried in a process that ends with it. */
int realm_try(const subids_t *range, fault_t *fault);

#endif
