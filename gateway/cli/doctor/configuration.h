/* Checks the configuration for hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_CONFIGURATION_H
#define HEARTH_GATEWAY_CLI_DOCTOR_CONFIGURATION_H

#include "gateway/cli/doctor/findings.h"

void doctor_check_configuration(report_t *report);
void doctor_check_http(report_t *report);

#endif
