/* Checks of a configuration that need this machine, or several values at once.
 */
#ifndef HEARTH_GATEWAY_CONFIG_CONFIG_CHECK_H
#define HEARTH_GATEWAY_CONFIG_CONFIG_CHECK_H

#include "gateway/config/config_report.h"
#include "gateway/config/options.h"

/* Checks certificates, patterns and names of profiles. The report was filled by
 * options_read, so that each finding begins with the place of its value. */
void config_check(const options_t *options, config_report_t *report);

/* Returns NULL if the users of gateway/uid_first and uid_count can be given to
 * sessions here, or if this process gives none. Otherwise returns why not, as a
 * sentence, owned by the caller. */
char *config_refuse_users(const options_t *options);

#endif
