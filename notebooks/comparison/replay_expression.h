/* Expressions that are evaluated between the cells of a replay. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_REPLAY_EXPRESSION_H
#define HEARTH_NOTEBOOKS_COMPARISON_REPLAY_EXPRESSION_H

#include "base/fault.h"
#include "notebooks/comparison/cell_executor.h"

/* Checks an expression before anything is run. Returns 1 if it can be one, -1
 * and what is wrong if not, and less than -1 for the runner's fault. */
int replay_check_expression(const cell_executor_t *runner,
                            const char *expression, char **ret_error,
                            fault_t *fault);

/* Evaluates an expression in the session. Returns 1 if it is true, 0 if it is
 * false, -1 if it raised (*ret_error has the error, owned by the caller).
 * Returns less than -1 for the executor's fault. */
int replay_evaluate(const cell_executor_t *runner, const char *expression,
                    char **ret_error, fault_t *fault);

#endif
