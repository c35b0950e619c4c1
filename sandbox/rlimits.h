/* Resource limits of each process. */
#ifndef HEARTH_SANDBOX_RLIMITS_H
#define HEARTH_SANDBOX_RLIMITS_H

#include "sandbox/entry.h"

/* Replaces each 0 in `limits` by its default. */
void rlimits_resolve(sandbox_limits_t *limits,
                     const sandbox_limits_t *defaults);
step_fn rlimits_apply;

#endif
