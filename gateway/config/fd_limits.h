/* Shares the process's descriptors: running out of them would end the gateway,
 * not one session. Sessions and viewers come first, up to
 * sessions/sessions_max. HTTP clients get the rest, and in any case a small
 * part. */
#ifndef HEARTH_GATEWAY_CONFIG_FD_LIMITS_H
#define HEARTH_GATEWAY_CONFIG_FD_LIMITS_H

#include "gateway/config/options.h"

#include <stddef.h>
#include <stdint.h>

/* Raises the process's limit to the maximum that the system permits. */
void fd_limits_raise(void);
/* Returns the number of descriptors that may be open (RLIMIT_NOFILE); SIZE_MAX
 * if unlimited. */
size_t fd_limits_descriptors(void);
/* Returns the number of HTTP connections, of one descriptor each. */
size_t fd_limits_connections(const options_t *options);
/* Returns the number of sessions and viewers; SIZE_MAX if unlimited. */
size_t fd_limits_sessions(const options_t *options);

#endif
