/* How the descriptors that the system permits are shared: too few of them would
 * end the gateway, not a session. Sessions and viewers come first, up to
 * sessions/sessions_max; clients over HTTP have what is left, and a small part
 * in any case. */
#ifndef HEARTH_GATEWAY_CONFIG_FD_LIMITS_H
#define HEARTH_GATEWAY_CONFIG_FD_LIMITS_H

#include "gateway/config/options.h"

#include <stddef.h>
#include <stdint.h>

/* Takes all that the system permits this process. */
void budget_raise(void);
/* So many there may be (RLIMIT_NOFILE); SIZE_MAX: any number. */
size_t budget_descriptors(void);
/* So many connections over HTTP, of one descriptor each. */
size_t budget_connections(const options_t *options);
/* So many sessions and viewers; SIZE_MAX: any number. */
size_t budget_sessions(const options_t *options);

#endif
