/* How a session looks from outside, compared with how it must: what /proc says
 * of pid 1 and of the payload. For whoever hands sessions out; knows no
 * description, because it trusts none. */
#ifndef HEARTH_SANDBOX_POSTURE_H
#define HEARTH_SANDBOX_POSTURE_H

#include "base/fault.h"
#include "sandbox/cgroup.h"
#include "sandbox/sandbox.h"

#include <sys/types.h>

typedef struct {
    uid_t host_uid; /* the payload's */
    gid_t host_gid;
    uid_t init_uid; /* pid 1's; 0: the payload's */
    gid_t init_gid;
    sandbox_limits_t limits; /* 0: the default */
    char *const *without;    /* walls left out, NULL at the end; or NULL */
    const cgroup_t *group;   /* borrowed; both processes are in it; or NULL */
    cgroup_limits_t group_limits; /* of it; not compared once code has run */
    bool has_run;  /* a session's code: limits, and what the payload has open,
                    * are not compared */
    bool was_seen; /* as expected, and no session's code has run since: walls
                    * that stand are not left again, so that the payload's
                    * status and what it has open are compared alone */
} posture_t;

/* 0 when it is as expected; -EPROTO with the first difference in the fault:
 * "pid 1: CapEff is …, expected …"; another code when it cannot be read. `pid`
 * is pid 1 as the caller counts. The payload has one thread and waits, unless
 * it has run. */
int posture_check(pid_t pid, const posture_t *expected, fault_t *fault);

#endif
