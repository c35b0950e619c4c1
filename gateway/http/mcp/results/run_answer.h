/* The answer to a call that ran code, or waits for it. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_RUN_ANSWER_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_RUN_ANSWER_H

#include "gateway/http/executions/execution_outcome.h"
#include "gateway/http/mcp/calls/call.h"

typedef struct {
    bool is_new;        /* the session was made for the run */
    bool is_for_task;   /* the client polls a task, so the model need not ask */
    bool is_structured; /* a program is answered, too */
    size_t tokens_max;  /* of the text, about; 0: as usual */
    mcp_call_t *call;   /* borrowed; its client may have to get a loss; or
                           NULL */
} run_answer_t;

/* Returns a tool's result for the caller: the run's view for a model, text,
 * then images. */
json_t *run_answer_result(http_t *http, const char *session, executions_t *runs,
                          const execution_t *run, const run_answer_t *answer);

/* Answers with the run's view for a model: text, then images. */
void run_answer(mcp_call_t *call, const char *session, executions_t *runs,
                const execution_t *run, const run_answer_t *answer);
#endif
