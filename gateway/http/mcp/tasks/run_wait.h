/* Waits for code that runs in a session, and answers a call: with its view for
 * a model if it has ended, else with its progress. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TASKS_RUN_WAIT_H
#define HEARTH_GATEWAY_HTTP_MCP_TASKS_RUN_WAIT_H

#include "gateway/http/mcp/calls/call.h"

typedef struct {
    const char *session; /* copied; whole id */
    const char *journal; /* copied; its folder */
    const char *run;     /* copied; the run's id */
    bool is_new;         /* the session was made for the run */
    bool is_cancelled;   /* the run is interrupted if the client goes */
    bool may_be_task;    /* if it takes longer, the answer is a task */
    double seconds;      /* after which the call is answered; > 0 */
    size_t tokens_max;   /* of the text, about; 0: as usual */
} run_wait_start_t;

/* Answers the call, now or later. */
void run_wait_begin(mcp_call_t *call, const run_wait_start_t *start);

#endif
