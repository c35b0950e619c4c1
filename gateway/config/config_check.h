/* Checks of a configuration that need this machine, or several values at once.
 */
#ifndef HEARTH_GATEWAY_CONFIG_CONFIG_CHECK_H
#define HEARTH_GATEWAY_CONFIG_CONFIG_CHECK_H

#include "gateway/config/config_report.h"
#include "gateway/config/options.h"

/* Certificates, patterns, names of profiles. The report was filled by
 * options_read, so that each finding begins with the place of its value. */
void config_check(const options_t *options, config_report_t *report);

/* Returns why the users of gateway/uid_first and uid_count cannot be given to
 * sessions here, as a sentence, which is the caller's; NULL if they can, or
 * this process gives none. */
char *config_refuse_users(const options_t *options);

#endif
