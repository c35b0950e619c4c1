/* The loss of variables that an answer reports before its own text, because its
 * client has not got it (gateway/session/core/loss_report.h). The session hears
 * that the client has got it when the answer is made: one whose client has gone
 * before that reports nothing. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_LOSS_BLOCK_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_LOSS_BLOCK_H

#include "gateway/http/mcp/calls/call.h"

/* Returns the content of a request for the description of a session, for the
 * caller. The reply has what the client has not got. */
json_t *loss_block_request(const mcp_call_t *call, const char *session);
/* Keeps what the session's description has of a loss, for the answer. */
void loss_block_keep(mcp_call_t *call, const json_t *session);

/* Adds a first block with the loss, if there is one, and reports to the session
 * that the client has it. */
void loss_block_add(mcp_call_t *call, json_t *blocks);
/* Returns the loss, lent; NULL if there is none. */
const json_t *loss_block_loss(const mcp_call_t *call);
/* Reports to the session that the client has the loss, which the answer says in
 * its own way. Does nothing if there is none. */
void loss_block_deliver(mcp_call_t *call);
/* Leaves the loss to a later answer. */
void loss_block_drop(mcp_call_t *call);

#endif
