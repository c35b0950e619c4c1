/* Steps of a launch: the session's own /proc, and what of it is hidden. */
#ifndef HEARTH_SANDBOX_LAUNCH_PROC_MOUNT_H
#define HEARTH_SANDBOX_LAUNCH_PROC_MOUNT_H

#include "sandbox/launch/entry.h"

step_fn proc_mount_make;
/* Forbids user namespaces: a second wall beside the filter, which refuses new
 * namespaces already. */
step_fn proc_mount_forbid_user_namespaces;
step_fn proc_mount_cover; /* in the private root, which was entered */

#endif
