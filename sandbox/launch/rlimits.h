/* A step of a launch: resource limits of each process. */
#ifndef HEARTH_SANDBOX_LAUNCH_RLIMITS_H
#define HEARTH_SANDBOX_LAUNCH_RLIMITS_H

#include "sandbox/launch/entry.h"

step_fn rlimits_apply;

#endif
