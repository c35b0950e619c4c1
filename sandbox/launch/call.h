/* Steps of a launch: the builder hands over the namespaces it has made. */
#ifndef HEARTH_SANDBOX_LAUNCH_CALL_H
#define HEARTH_SANDBOX_LAUNCH_CALL_H

#include "sandbox/launch/entry.h"

step_fn call_in;            /* the builder's */
step_fn call_await;         /* the payload's */
step_fn call_await_builder; /* pid 1's */

#endif
