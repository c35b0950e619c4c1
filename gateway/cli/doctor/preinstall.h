/* Checks packages that all sessions of a profile have, for hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_PREINSTALL_H
#define HEARTH_GATEWAY_CLI_DOCTOR_PREINSTALL_H

#include "gateway/cli/doctor/findings.h"

/* Checks the packages that profiles have preinstalled; asks the gateway, if one
 * runs. */
void doctor_check_preinstall(report_t *report);

#endif
