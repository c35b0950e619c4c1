/* The folder that packages/dir names, and the program packages/uv: checked in
 * the same way by the gateway's start and by hearth doctor. */
#ifndef HEARTH_GATEWAY_CONFIG_PACKAGES_PLACE_H
#define HEARTH_GATEWAY_CONFIG_PACKAGES_PLACE_H

#include "base/fault.h"
#include "gateway/config/options.h"

#include <stdbool.h>
#include <sys/types.h>

/* Returns true if a profile has an index. */
bool packages_place_is_wanted(const options_t *options);

/* Returns 0 if the folder belongs to the user, no other user can write to it.
 * -ENOENT if it is not there; -ENOTDIR, -EPERM: the fault says what to do. */
int packages_place_check(const char *path, uid_t owner, fault_t *fault);
/* Returns 0 if the user can enter the folder by its path. -EACCES names the
 * first folder that the user cannot enter, and the remedy. */
int packages_place_reach(const char *path, uid_t user, fault_t *fault);

/* Returns the path of uv for a profile: that of packages/uv, else the one
 * beside the profile's Python, else the one in PATH. The caller frees it. NULL
 * if there is none. */
char *packages_place_uv(const options_t *options, const profile_t *profile);

#endif
