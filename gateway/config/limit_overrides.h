/* Limits of one session, lower than those of its profile: asked for when it is
 * made, kept with it, and never more than what the profile permits today. */
#ifndef HEARTH_GATEWAY_CONFIG_LIMIT_OVERRIDES_H
#define HEARTH_GATEWAY_CONFIG_LIMIT_OVERRIDES_H

#include "base/fault.h"
#include "kernels/profile.h"

#include <jansson.h>

/* The profile's limits, lowered by what is asked: {"memory": "512M",
 * "processes": 64}, the names behind profile/<name>/limits/ of hearth.cfg(5),
 * each a number or what could stand there; NULL or null: nothing. ret_text is
 * that in numbers, as JSON, to be freed; NULL where nothing was asked. -EINVAL
 * and -ERANGE name the member that is no limit, cannot be that, or is more than
 * the profile's. */
int session_limits_ask(const profile_t *profile, json_t *asked_or_null,
                       profile_limits_t *ret_limits, char **ret_text,
                       fault_t *fault);
/* The same of a text that session_limits_ask made, perhaps of another gateway:
 * where the configuration permits less now, that holds. */
profile_limits_t session_limits_keep(const profile_t *profile,
                                     const char *text_or_null);

#endif
