/* Runs cells in a session over its own sockets, as any Jupyter client does, and
 * collects the results of each. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_CELL_RUNNER_H
#define HEARTH_GATEWAY_CLI_CLIENT_CELL_RUNNER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/cli/client/management_client.h"
#include "notebooks/comparison/cell_executor.h"

#include <stdbool.h>

typedef struct cell_runner cell_runner_t;

typedef struct {
    /* Is asked whether the session still exists while no message comes; lent
     * for the runner's life. */
    management_client_t *management;
    const json_t *session; /* its description by the gateway; borrowed */
    const char *client;    /* the name of this client; borrowed */
    bool is_revival;       /* the cells are recorded ones of this session */
    /* Called with NULL while something is brought from outside; false ends the
     * wait for it. May be NULL. */
    bool (*goes_on)(void *arg);
} cell_runner_how_t;

/* Connects to a session. */
int cell_runner_new(const cell_runner_how_t *how, cell_runner_t **ret_runner,
                    fault_t *fault);
void cell_runner_destroy(cell_runner_t **self_p);
#define cleanup_cell_runner CLEANUP(cell_runner_destroy)

/* Returns the functions by which replay runs cells with this runner. */
cell_executor_t cell_runner_methods(cell_runner_t *self);

#endif
