/* One setting of a session that is lower than its profile's: which keys can be,
 * in which direction, and the sentences for those that cannot. */
#ifndef HEARTH_GATEWAY_CONFIG_LOWERED_VALUE_H
#define HEARTH_GATEWAY_CONFIG_LOWERED_VALUE_H

#include "base/fault.h"
#include "kernels/profile.h"

#include <jansson.h>

/* Reads the value of a key such as "limits/memory": a number, true or false, an
 * array of texts, or a text in the form of hearth.cfg. A number or a switch is
 * set in `view`, a copy of the profile. ret_value is the value in one form, for
 * the caller. -ERANGE if it would permit more than the profile. -EINVAL if it
 * is wrong, or if a session cannot lower the key. */
int lowered_value_read(const profile_t *profile, const char *key,
                       const json_t *value, profile_t *view, json_t **ret_value,
                       fault_t *fault);
/* Returns such a value in the form of hearth.cfg, for the caller; NULL if it
 * has none, or is NULL. */
char *lowered_value_write(const char *key, const json_t *value_or_null);

#endif
