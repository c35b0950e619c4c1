/* Checks what the caller of a launch asks for, before anything is made. */
#ifndef HEARTH_SANDBOX_LAUNCH_LAUNCH_CHECK_H
#define HEARTH_SANDBOX_LAUNCH_LAUNCH_CHECK_H

#include "base/fault.h"
#include "sandbox/launch/launch.h"

#include <stdbool.h>

/* Returns 0 if the launch can be tried: it has its descriptors, and users that
 * the caller may give. `privileged`: the caller, or its mapper, can give others
 * than its own. A kernel as root is refused with -EPERM. */
int launch_check(const sandbox_launch_t *launch, bool privileged,
                 fault_t *fault);

#endif
