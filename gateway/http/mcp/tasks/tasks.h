/* The extension io.modelcontextprotocol/tasks: a call of `execute` that takes
 * long is answered with a task, which the client asks for later. A task is a
 * run of the session's journal, so nothing is kept here, and a task outlives
 * the gateway. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TASKS_TASKS_H
#define HEARTH_GATEWAY_HTTP_MCP_TASKS_TASKS_H

#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/mcp/results/run_answer.h"

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"

/* Returns true if the client takes a task for an answer. */
bool tasks_are_declared(const mcp_call_t *call);
/* Returns true if tasks_are_declared; else the call is answered with an error.
 */
bool tasks_check(mcp_call_t *call);
/* Returns the task's status, a constant. */
const char *tasks_status(const mcp_call_t *call, const executions_t *runs,
                         const execution_t *run);
/* Returns the task that a run is, for the caller; `session` is a whole id. */
json_t *tasks_model(const mcp_call_t *call, const char *session,
                    executions_t *runs, const execution_t *run);

/* Methods of the protocol. */
void tasks_get(mcp_call_t *call);
void tasks_update(mcp_call_t *call);
void tasks_cancel(mcp_call_t *call);

#endif
