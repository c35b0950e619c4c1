/* Compares a session, seen from outside, with what it must be: what /proc says
 * of pid 1 and of the payload. For the gateway, before it gives a session to a
 * client. It does not use the sandbox's description, because it trusts none. */
#ifndef HEARTH_SANDBOX_VERIFICATION_VERIFICATION_H
#define HEARTH_SANDBOX_VERIFICATION_VERIFICATION_H

#include "base/fault.h"
#include "sandbox/cgroups/cgroup.h"
#include "sandbox/policy/sandbox_limits.h"

#include <sys/types.h>

typedef struct {
    uid_t host_uid; /* the payload's */
    gid_t host_gid;
    uid_t init_uid; /* pid 1's; 0: the payload's */
    gid_t init_gid;
    sandbox_limits_t limits; /* 0: the default */
    char *const *without;    /* walls left out, NULL at the end; or NULL */
    const cgroup_t *group;   /* borrowed; both processes are in it; or NULL */
    cgroup_limits_t group_limits; /* not compared once code has run */
    bool has_run;  /* a session's code has run: limits and open files of the
                      payload are not compared */
    bool was_seen; /* it was verified, and no session's code has run since: a
                      process cannot leave a wall, so only the payload's status
                      and open files are compared */
} verification_t;

/* Returns 0 if all is as expected; -EPROTO with the first difference in the
 * fault: "pid 1: CapEff is …, expected …"; another code if something cannot be
 * read. `pid` is pid 1 by the caller's numbering. The payload has one thread
 * and waits, unless code has run. */
int verification_check(pid_t pid, const verification_t *expected,
                       fault_t *fault);

#endif
