/* Checks the download of files and repositories for hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_FETCH_H
#define HEARTH_GATEWAY_CLI_DOCTOR_FETCH_H

#include "gateway/cli/doctor/findings.h"

void doctor_check_fetch(report_t *report);

#endif
