/* The outcome of a cell of `hearth exec`: its exit status and what is shown. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_EXEC_OUTCOME_H
#define HEARTH_GATEWAY_CLI_CLIENT_EXEC_OUTCOME_H

#include "gateway/cli/client/exec_cell.h"

/* Prints the outcome of the cell in the session `id`. Returns the exit status.
 */
gateway_exit_t exec_outcome_print(exec_cell_t *self, const char *id);
/* Prints the document or the view that was asked for, if any, of a cell that
 * ended with that status. */
void exec_outcome_print_machine_readable(exec_cell_t *self, const char *id,
                                         gateway_exit_t status);

#endif
