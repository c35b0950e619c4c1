/* Checks from outside that a kernel's sandbox is as its launch had to make it
 * (sandbox/verification/verification.h): while the kernel starts and when it is
 * ready, before any client's code has run in it, and when a gateway adopts it.
 */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_SANDBOX_CHECK_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_SANDBOX_CHECK_H

#include "gateway/session/lifecycle/spec.h"

typedef enum {
    SANDBOX_CHECK_START,  /* the kernel starts, or is ready */
    SANDBOX_CHECK_AGAIN,  /* it was checked while it started, and is ready */
    SANDBOX_CHECK_ADOPTED /* its code has run: values that code, or a changed
                             profile, may have changed are skipped */
} sandbox_check_when_t;

/* Checks the sandbox of the process `pid`; `group` is its control group, or
 * NULL. -EPROTO if it differs, other -EXXX if it cannot be read. */
int sandbox_check(const session_spec_t *spec, pid_t pid, cgroup_t *group,
                  sandbox_check_when_t when, fault_t *fault);

#endif
