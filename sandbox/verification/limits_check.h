/* Compares what /proc/PID/limits says with the limits of the session. */
#ifndef HEARTH_SANDBOX_VERIFICATION_LIMITS_CHECK_H
#define HEARTH_SANDBOX_VERIFICATION_LIMITS_CHECK_H

#include "sandbox/verification/seen_process.h"

/* Returns 0 if no hard limit is above that of the session; -EPROTO with the
 * first that is. The machine's own may be lower. */
int limits_check(const seen_process_t *process, const char *text,
                 fault_t *fault);

#endif
