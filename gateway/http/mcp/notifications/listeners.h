/* The subscriptions of clients older than revision 2026-07-28. They are kept
 * under the client's Mcp-Session-Id between two of its streams: until the
 * client ends that id, or has had no stream and sent no request about them for
 * an hour. Only a number of clients are remembered; the one that was silent for
 * longest is forgotten. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_NOTIFICATIONS_LISTENERS_H
#define HEARTH_GATEWAY_HTTP_MCP_NOTIFICATIONS_LISTENERS_H

#include "gateway/http/mcp/notifications/watch.h"

#define LISTENERS_MAX 256
#define LISTENERS_KEPT_MS                                                      \
    3600000 /* a client that opens a stream again is back                      \
               within seconds */

/* Returns what the client has subscribed to, lent, also if that is nothing yet.
 * `who` is its token: another token is another client. `now` in monotonic ms.
 */
watch_t *listeners_use(mcp_listener_t **list, const char *client,
                       const char *who, int64_t now);
/* Returns the same if the client is known, else NULL. */
watch_t *listeners_find(mcp_listener_t *list, const char *client,
                        const char *who);
/* Forgets a client. No stream of it may be open. */
void listeners_forget(mcp_listener_t **list, const watch_t *watch);
/* Forgets the clients that were silent for too long. */
void listeners_expire(mcp_listener_t **list, int64_t now);
void listeners_destroy(mcp_listener_t **list);

#endif
