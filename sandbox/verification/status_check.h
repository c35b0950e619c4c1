/* Compares what /proc/PID/status says with what it must say: the users, the
 * capabilities, the filter, and the number inside. */
#ifndef HEARTH_SANDBOX_VERIFICATION_STATUS_CHECK_H
#define HEARTH_SANDBOX_VERIFICATION_STATUS_CHECK_H

#include "sandbox/verification/seen_process.h"

/* Returns 0 if the text is as expected; -EPROTO with the first difference. A
 * caller that cannot give users does not compare the groups. */
int status_check(const seen_process_t *process, const char *status,
                 fault_t *fault);

#endif
