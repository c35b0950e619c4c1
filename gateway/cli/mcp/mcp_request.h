/* A line of an MCP client as an HTTP request: the header lines repeat parts of
 * the message, as the revision 2026-07-28 requires. Pure. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_REQUEST_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_REQUEST_H

#include "base/buffer.h"
#include "gateway/cli/mcp/mcp_place.h"

#include <jansson.h>
#include <stdbool.h>

/* The values from the client's earlier messages. */
typedef struct {
    char version[32];  /* that an `initialize` has agreed on, or "" */
    char session[128]; /* Mcp-Session-Id, or "" */
} mcp_client_t;

/* Gives a call of a tool a key if it has none, so that it can be sent twice. */
void mcp_request_add_key(json_t *message);
/* Returns true if the message is of a revision without handshake. */
bool mcp_request_is_modern(const json_t *message);
/* Returns true if the client gives up a request by it. */
bool mcp_request_is_cancellation(const json_t *message);
/* Writes the whole request. `message` is NULL if the line is not JSON; the
 * gateway reports that. */
void mcp_request_write(const mcp_place_t *place, const mcp_client_t *client,
                       const json_t *message, const char *line, size_t size,
                       buffer_t *out);
/* Writes the request for the stream of notifications, of a client whose
 * `initialize` was answered. */
void mcp_request_write_get(const mcp_place_t *place, const mcp_client_t *client,
                           buffer_t *out);
/* Writes the request that ends such a client at the gateway. */
void mcp_request_write_delete(const mcp_place_t *place,
                              const mcp_client_t *client, buffer_t *out);

#endif
