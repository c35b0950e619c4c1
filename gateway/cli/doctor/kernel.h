/* Checks the kernel of the machine for hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_KERNEL_H
#define HEARTH_GATEWAY_CLI_DOCTOR_KERNEL_H

#include "gateway/cli/doctor/findings.h"

void doctor_check_kernel(report_t *report);
void doctor_check_namespaces(report_t *report);
void doctor_check_seccomp(report_t *report);
void doctor_check_landlock(report_t *report);
/* Tries what the check of namespaces needs, in a process that this check
 * starts. Prints what failed to stdout; the outcome is the exit code. `user` is
 * the number of a session's user, which the process becomes; NULL: none. */
int doctor_probe_namespaces(const char *user);
int doctor_probe_proc(void);

#endif
