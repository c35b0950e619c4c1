/* Settings of one session that are lower than its profile's: limits, and rules
 * for packages and fetches. Requested when it is created, stored with it, and
 * never above what the profile permits today. */
#ifndef HEARTH_GATEWAY_CONFIG_LOWERING_H
#define HEARTH_GATEWAY_CONFIG_LOWERING_H

#include "base/fault.h"
#include "kernels/profile.h"

#include <jansson.h>

#include <stdbool.h>

#define LOWERING_MAX 4096 /* bytes of one request as JSON */

/* The sections of a profile of which a session can have less. */
#define LOWERING_LIMITS   "limits"
#define LOWERING_PACKAGES "packages"
#define LOWERING_FETCH    "fetch"

/* Reads what is requested of a section: {"memory": "512M", "processes": 64},
 * with the key names of profile/<name>/limits/ in hearth.cfg(5). A value is a
 * number, true or false, an array of texts, or a text in the file's form; NULL
 * or null is no request. ret_text is the request as JSON in one form, to be
 * freed; NULL if there was none. -EINVAL names a member that is unknown, that a
 * session cannot lower, or that has a wrong value. -ERANGE names one that would
 * permit more than the profile. */
int lowering_ask(const profile_t *profile, const char *section,
                 json_t *asked_or_null, char **ret_text, fault_t *fault);
/* Applies a text that lowering_ask made, perhaps in another gateway. Numbers
 * and switches go into `view`, a copy of the profile that borrows its texts and
 * lists. Where the configuration now permits less, the configuration wins.
 * *ret_kept has the members that count, for the caller; NULL if no member
 * counts. Returns false if not all of the text can be read. */
bool lowering_keep(const profile_t *profile, const char *section,
                   const char *text_or_null, profile_t *view,
                   json_t **ret_kept);
/* Returns the profile's limits, lowered by such a text of LOWERING_LIMITS. */
profile_limits_t lowering_limits(const profile_t *profile,
                                 const char *text_or_null);
/* Returns the member of `kept` in the form of hearth.cfg, for the caller; NULL
 * if it has none. */
char *lowering_write(const char *section, const json_t *kept, const char *name);

#endif
