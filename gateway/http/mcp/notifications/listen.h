/* Streams of notifications: `subscriptions/listen` of 2026-07-28, and the GET
 * of the revisions before, whose clients name what they want by
 * `resources/subscribe`. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_NOTIFICATIONS_LISTEN_H
#define HEARTH_GATEWAY_HTTP_MCP_NOTIFICATIONS_LISTEN_H

#include "gateway/http/mcp/calls/call.h"

/* Methods of the protocol. */
void listen_open(mcp_call_t *call);
void listen_subscribe(mcp_call_t *call);
void listen_unsubscribe(mcp_call_t *call);

/* Answers a GET with the stream of its client; the call has no message. */
void listen_get(mcp_call_t *call);
/* Forgets what the client of that Mcp-Session-Id, which sends the exchange, has
 * subscribed to. Ends its stream. */
void listen_forget(const exchange_t *exchange, const char *client);
/* Forgets subscriptions of clients that were silent for long. Called each
 * second. */
void listen_on_tick(http_t *http);
/* Forgets all subscriptions of clients older than 2026-07-28. */
void listen_destroy(http_t *http);

#endif
