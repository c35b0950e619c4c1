/* A step of a launch: resource limits of each process. */
#ifndef HEARTH_SANDBOX_RLIMITS_H
#define HEARTH_SANDBOX_RLIMITS_H

#include "sandbox/entry.h"

step_fn rlimits_apply;

#endif
