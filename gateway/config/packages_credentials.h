/* The users and passwords of a profile's package index and its hosts, in a file
 * of the form of netrc(5). They leave the gateway in a job of the packages
 * worker, and nowhere else. */
#ifndef HEARTH_GATEWAY_CONFIG_PACKAGES_CREDENTIALS_H
#define HEARTH_GATEWAY_CONFIG_PACKAGES_CREDENTIALS_H

#include "base/fault.h"
#include "kernels/profile.h"

#include <jansson.h>

/* Reads the profile's file: an array of {"host", "user", "password"}, which the
 * caller owns. It has the hosts that the profile may reach, and no others.
 * -EPERM if other users can read the file, -EINVAL if it is not what it has to
 * be or names no user of the index. No text of the file is in a fault. */
int packages_credentials_read(const profile_t *profile, json_t **ret_list,
                              fault_t *fault);

#endif
