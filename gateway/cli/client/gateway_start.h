/* A gateway in the background, started by a command that needs one. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_GATEWAY_START_H
#define HEARTH_GATEWAY_CLI_CLIENT_GATEWAY_START_H

#include "base/fault.h"
#include "gateway/config/options.h"

#include <stdbool.h>

/* The arguments of a start. */
typedef struct {
    const char *const *words; /* borrowed; NULL: `hearth serve` */
    const char *folder;       /* borrowed; NULL: this one */
} gateway_start_t;

/* Returns true if a gateway listens on the management socket of that path. */
bool gateway_start_is_served(const char *socket);

/* Waits until a gateway listens: a new one, one that another command started,
 * or one that is starting already. If a new one ends, the fault is the last
 * line of its log. */
int gateway_start_run(const gateway_start_t *how, const char *socket,
                      const options_t *options, fault_t *fault);

#endif
