/* Attaches a call to its session, which then takes code, or an answer to a
 * question of its code. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_CALLS_ATTACH_H
#define HEARTH_GATEWAY_HTTP_MCP_CALLS_ATTACH_H

#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/subscriptions/subscription.h"

/* Gets the session's subscription, lent, or NULL and a sentence that says why
 * the session takes nothing now. */
typedef void attach_fn(mcp_call_t *call, const subscription_t *subscription,
                       const char *flaw);

/* Calls `fn`, now or when the session has answered. `session` is a whole id. */
void attach_begin(mcp_call_t *call, const char *session, attach_fn *fn);

#endif
