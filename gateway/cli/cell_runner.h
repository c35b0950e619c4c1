/* Runs cells in a session over its own sockets, as any Jupyter client does,
 * and collects what comes of each. */
#ifndef HEARTH_GATEWAY_CLI_CELL_RUNNER_H
#define HEARTH_GATEWAY_CLI_CELL_RUNNER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/cli/mgmt.h"
#include "notebooks/runner.h"

#include <stdbool.h>

typedef struct cell_runner cell_runner_t;

/* `session`: its description by the gateway; `mgmt` is borrowed, it is asked
 * whether the session is there when nothing is heard. `is_revival`: the cells
 * are recorded ones of the session itself. */
int cell_runner_new(mgmt_t *mgmt, const json_t *session, const char *client,
                    bool is_revival, cell_runner_t **ret_runner,
                    fault_t *fault);
void cell_runner_destroy(cell_runner_t **self_p);
#define cleanup_cell_runner CLEANUP(cell_runner_destroy)

/* What runs cells by it. */
runner_t cell_runner_methods(cell_runner_t *self);

#endif
