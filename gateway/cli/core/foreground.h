/* Another program in the place of this one, which waits for its end. */
#ifndef HEARTH_GATEWAY_CLI_CORE_FOREGROUND_H
#define HEARTH_GATEWAY_CLI_CORE_FOREGROUND_H

#include "gateway/cli/core/command.h"

/* Runs the program argv[0] until it ends, and says why if it cannot start.
 * SIGTERM and SIGHUP are passed on; Ctrl-C reaches it from the terminal.
 * Returns GATEWAY_EXIT_OK if its exit status is 0. */
gateway_exit_t foreground_run(char *const *argv);

#endif
