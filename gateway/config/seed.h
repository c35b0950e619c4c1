/* A profile's seed: a notebook whose cells each new kernel runs before it is
 * given to a client. It is read once, when the gateway starts. */
#ifndef HEARTH_GATEWAY_CONFIG_SEED_H
#define HEARTH_GATEWAY_CONFIG_SEED_H

#include "gateway/config/options.h"

#define SEED_CODE_MAX (1u << 20) /* bytes of all cells of a seed */

/* Reads the cells of each profile that names a notebook. -EINVAL, -E2BIG or an
 * error of reading; the fault names the profile. */
int seed_load(const options_t *options, fault_t *fault);

#endif
