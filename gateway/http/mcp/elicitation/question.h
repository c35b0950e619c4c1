/* A question of input() as an elicitation: a form with one line of text that
 * the client's user fills in. A secret (getpass) is never asked for. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_ELICITATION_QUESTION_H
#define HEARTH_GATEWAY_HTTP_MCP_ELICITATION_QUESTION_H

#include "gateway/http/executions/executions.h"
#include "gateway/http/mcp/calls/call.h"

#define QUESTION_METHOD   "elicitation/create"
#define QUESTION_KEY_SIZE 24 /* bytes of a question's key, with its NUL */

/* Ends the Mcp-Session-Id of a client older than 2026-07-28 that can be asked.
 * The client declares that once, and nothing else is kept of it. */
#define QUESTION_MARK "-asked"

/* Returns true if a client with these capabilities can be asked; NULL has
 * no capability. */
bool question_is_possible(const json_t *capabilities);
/* Returns true if the client of the call can be asked. */
bool question_is_declared(const mcp_call_t *call);
/* Returns true if the run asks for something that a client may be asked for. */
bool question_is_open(const execution_t *run);
/* Returns the params of the elicitation, for the caller. */
json_t *question_params(const mcp_call_t *call, const char *session,
                        const execution_t *run);
/* Returns {"KEY":{"method","params"}}, for the caller. */
json_t *question_requests(const mcp_call_t *call, const char *session,
                          const execution_t *run);
/* Returns the response to the run's question out of a client's
 * `inputResponses`, lent; NULL if it is not among them. */
const json_t *question_response(const execution_t *run,
                                const json_t *responses);
/* Gives the answer of a client to the code: its text, or the end of input if it
 * declines. Returns -EINVAL if the answer has neither. */
int question_answer(http_t *http, const char *session, execution_t *run,
                    const json_t *answer, fault_t *fault);

#endif
