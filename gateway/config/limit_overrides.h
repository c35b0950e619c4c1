/* Limits of one session, lower than those of its profile: requested when it is
 * created, stored with it, and never above what the profile permits today. */
#ifndef HEARTH_GATEWAY_CONFIG_LIMIT_OVERRIDES_H
#define HEARTH_GATEWAY_CONFIG_LIMIT_OVERRIDES_H

#include "base/fault.h"
#include "kernels/profile.h"

#include <jansson.h>

/* Lowers the profile's limits as requested: {"memory": "512M", "processes":
 * 64}, with the key names of profile/<name>/limits/ in hearth.cfg(5). A value
 * is a number or a text in the file's form; NULL or null is no request.
 * ret_text is the request in numbers, as JSON, to be freed; NULL if there was
 * none. -EINVAL and -ERANGE name the member that is no limit, has a wrong
 * value, or exceeds the profile's. */
int limit_overrides_ask(const profile_t *profile, json_t *asked_or_null,
                        profile_limits_t *ret_limits, char **ret_text,
                        fault_t *fault);
/* Applies a text that limit_overrides_ask made, perhaps in another gateway.
 * Where the configuration now permits less, the configuration wins. */
profile_limits_t limit_overrides_keep(const profile_t *profile,
                                      const char *text_or_null);

#endif
