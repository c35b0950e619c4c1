/* The outputs and the reply of one cell of a session, read from the journal. */
#ifndef HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTION_OUTCOME_H
#define HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTION_OUTCOME_H

#include "gateway/http/executions/executions.h"

typedef struct {
    json_t *outputs;  /* owned; list of nbformat 4 outputs */
    json_t *reply;    /* owned; its content, NULL without one */
    json_t *metadata; /* owned; of the reply, NULL without one */
    int64_t began_us; /* wall clock; when it began, 0: it has not */
    int64_t ended_us; /* of its reply; 0: it has none */
    long long count;  /* its number, as in Out[N]; 0: none yet */
} execution_outcome_t;

void execution_outcome_clear(execution_outcome_t *self);
#define cleanup_execution_outcome CLEANUP(execution_outcome_clear)

/* Reads the records of a run, as far as there are any. Returns -ENOENT if the
 * reply of a run that is done is no longer kept. */
int execution_outcome_read(const http_t *http, const executions_t *runs,
                           const execution_t *run,
                           execution_outcome_t *ret_outcome);
/* Reads those of any cell. Returns -ENOENT if they are no longer kept. */
int execution_outcome_read_cell(const http_t *http, const executions_t *runs,
                                const executions_cell_t *cell,
                                execution_outcome_t *ret_outcome);

/* Returns {"status","execution_count","outputs"…} of a run that is done, owned
 * by the caller; NULL if it is no longer kept. */
json_t *execution_result(const http_t *http, const executions_t *runs,
                         const execution_t *run);

#endif
