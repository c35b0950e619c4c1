/* Steps of a launch: Landlock's rules. */
#ifndef HEARTH_SANDBOX_LAUNCH_LANDLOCK_H
#define HEARTH_SANDBOX_LAUNCH_LANDLOCK_H

#include "sandbox/launch/entry.h"

step_fn landlock_describe; /* makes the rules, of what is shown */
step_fn landlock_enter;

#endif
