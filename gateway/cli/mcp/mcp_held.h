/* Requests of a client that wait, because as many as there may be are under
 * way: which may be sent now, in which order, and how many may wait. The caller
 * has the requests; one is a pointer of the caller's here. Pure. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_HELD_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_HELD_H

#include <stdbool.h>
#include <stddef.h>

#define MCP_HELD_LINES_MAX  64   /* requests under way; more of them wait */
#define MCP_HELD_URGENT_MAX 64   /* besides, of what ends a wait */
#define MCP_HELD_MAX        1024 /* requests that wait */
#define MCP_HELD_BYTES      (32u << 20) /* of their lines */

typedef struct mcp_held mcp_held_t;

/* Returns an empty list. */
mcp_held_t *mcp_held_new(void);
void mcp_held_destroy(mcp_held_t **self_p);

/* Returns true if a request can be sent while that number of others is under
 * way. An urgent one may end another, so that those do not hold it up. */
bool mcp_held_may_send(size_t under_way, bool is_urgent);

/* Has a request wait whose line has `size` bytes. Returns false if too many
 * wait: it is not added. */
bool mcp_held_add(mcp_held_t *self, void *request, size_t size, bool is_urgent);
/* Removes a request. Returns false if it does not wait. */
bool mcp_held_remove(mcp_held_t *self, const void *request);
size_t mcp_held_count(const mcp_held_t *self);
/* Removes the oldest request whose turn has come, and returns it; NULL if there
 * is none. An urgent one does not wait for the others before it. */
void *mcp_held_take(mcp_held_t *self, size_t under_way);

#endif
