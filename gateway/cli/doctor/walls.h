/* Checks the walls of sessions for hearth doctor. */
#ifndef HEARTH_GATEWAY_CLI_DOCTOR_WALLS_H
#define HEARTH_GATEWAY_CLI_DOCTOR_WALLS_H

#include "gateway/cli/doctor/findings.h"

/* Checks the walls of sessions, their users, the zygotes and the places of each
 * profile. Called after the checks of the features that walls are
 * made of. */
void doctor_check_walls(report_t *report);

/* Returns true if this process may write to `path`, with the capabilities that
 * it has. */
bool doctor_may_write(const char *path);
/* Returns the user that zygotes would have, and workers of downloads with them,
 * if the calling user started a gateway. */
uid_t doctor_zygote_user(const options_t *options);

#endif
