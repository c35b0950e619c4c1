/* Checks resources for sessions for hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_LIMITS_H
#define HEARTH_GATEWAY_CLI_DOCTOR_LIMITS_H

#include "gateway/cli/doctor/findings.h"

void doctor_check_cgroups(report_t *report);
void doctor_check_files(report_t *report);
void doctor_check_sockets(report_t *report);
void doctor_check_processes(report_t *report);

#endif
