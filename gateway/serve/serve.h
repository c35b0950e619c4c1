/* The gateway as a program: the order in which it starts and stops. */
#ifndef HEARTH_GATEWAY_SERVE_SERVE_H
#define HEARTH_GATEWAY_SERVE_SERVE_H

#include "gateway/config/options.h"

/* Runs until it is asked to stop; returns an exit code of
 * gateway/config/state_files.h. Options and report stay the caller's. */
int serve_main(options_t *options, config_report_t *report);

#endif
