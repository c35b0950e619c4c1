/* A call whose code asks by input() is answered with the question, and repeated
 * with the answer: 2026-07-28's way, in which nothing is kept between the two.
 * The state that the client sends back names the run and the question. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_ELICITATION_CALL_STATE_H
#define HEARTH_GATEWAY_HTTP_MCP_ELICITATION_CALL_STATE_H

#include "gateway/http/executions/executions.h"
#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/mcp/protocol/request_state.h"

/* Answers the call with the run's question. */
void call_state_ask(mcp_call_t *call, const char *session,
                    const execution_t *run);
/* Reads the state that a call brings. Returns false if it was not made for the
 * client and the arguments of this call, or is too old. */
bool call_state_read(const mcp_call_t *call, request_state_t *ret_state);

#endif
