/* Checks packages for hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_PACKAGES_H
#define HEARTH_GATEWAY_CLI_DOCTOR_PACKAGES_H

#include "gateway/cli/doctor/findings.h"

void doctor_check_packages(report_t *report);

#endif
