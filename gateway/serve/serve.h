/* The gateway as a program: order of birth and of death. */
#ifndef HEARTH_GATEWAY_SERVE_SERVE_H
#define HEARTH_GATEWAY_SERVE_SERVE_H

#include "gateway/config/options.h"

/* Runs until it is told to stop; returns an exit code of
 * gateway/config/state_files.h. */
int serve_main(options_t *options);

#endif
