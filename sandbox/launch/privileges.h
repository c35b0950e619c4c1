/* Steps of a launch: capabilities and no_new_privs. */
#ifndef HEARTH_SANDBOX_LAUNCH_PRIVILEGES_H
#define HEARTH_SANDBOX_LAUNCH_PRIVILEGES_H

#include "sandbox/launch/entry.h"

step_fn privileges_forbid_new;
step_fn privileges_drop;
step_fn privileges_keep_init;

#endif
