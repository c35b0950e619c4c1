/* Compares what /proc/PID/mountinfo says with what a session may have mounted:
 * nothing shared with the host, no programs with set-user-id, no devices but
 * those of /dev, and few places that can be written. */
#ifndef HEARTH_SANDBOX_VERIFICATION_MOUNT_CHECK_H
#define HEARTH_SANDBOX_VERIFICATION_MOUNT_CHECK_H

#include "sandbox/verification/seen_process.h"

/* Returns 0 if each mount keeps to the rules; -EPROTO with the first that does
 * not. The text is cut into lines. */
int mount_check(const seen_process_t *process, char *mountinfo, fault_t *fault);

#endif
