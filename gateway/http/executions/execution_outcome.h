/* The outcomes of a session's executions and cells. */
#ifndef HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTION_OUTCOME_H
#define HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTION_OUTCOME_H

#include "gateway/http/executions/executions.h"
#include "notebooks/recording/cell_outcome.h"

/* Reads the records of a run, as far as there are any. Returns -ENOENT if the
 * reply of a run that is done is no longer kept. */
int execution_outcome_read(const http_t *http, const executions_t *runs,
                           const execution_t *run, cell_outcome_t *ret_outcome);
/* Reads those of any cell. Returns -ENOENT if they are no longer kept. */
int execution_outcome_read_cell(const http_t *http, const executions_t *runs,
                                const executions_cell_t *cell,
                                cell_outcome_t *ret_outcome);

/* Returns {"status","execution_count","outputs"…} of a run that is done, owned
 * by the caller; NULL if it is no longer kept. */
json_t *execution_result(const http_t *http, const executions_t *runs,
                         const execution_t *run);

#endif
