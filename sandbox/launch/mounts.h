/* Steps of a launch: the private root and what is mounted in it. */
#ifndef HEARTH_SANDBOX_LAUNCH_MOUNTS_H
#define HEARTH_SANDBOX_LAUNCH_MOUNTS_H

#include "sandbox/launch/entry.h"

/* Opens sources and workspace with the caller's identity. The workspace is the
 * working directory. */
step_fn mounts_open_sources;
step_fn mounts_make_root;
step_fn mounts_make_folders;
step_fn mounts_make_tmp;
step_fn mounts_make_devices;
step_fn mounts_attach_sources;
step_fn mounts_attach_workspace;
step_fn mounts_enter_root;
step_fn mounts_leave_old_root; /* the caller's working directory is in it */

#endif
