/* Whether sessions may have packages, and the program uv: found in the same way
 * by the gateway and by hearth doctor. */
#ifndef HEARTH_GATEWAY_CONFIG_PACKAGES_PLACE_H
#define HEARTH_GATEWAY_CONFIG_PACKAGES_PLACE_H

#include "gateway/config/options.h"

#include <stdbool.h>

/* Returns true if a profile has an index. */
bool packages_place_is_wanted(const options_t *options);

/* Returns the path of uv for a profile: that of packages/uv, else the one
 * beside the profile's Python, else the one in PATH. The caller frees it. NULL
 * if none of these exists. */
char *packages_place_uv(const options_t *options, const profile_t *profile);

/* Returns true if the profile names advisories and that is no file: then
 * nothing can be added. */
bool packages_place_lacks_advisories(const profile_t *profile);

#endif
