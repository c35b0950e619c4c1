/* Where the gateway's endpoint of MCP is, and how it is reached. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_PLACE_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_PLACE_H

#include "base/fault.h"
#include "gateway/cli/client/net_stream.h"
#include "gateway/cli/client/own_gateway.h"
#include "gateway/cli/client/tls_trust.h"

#include <stdbool.h>

typedef struct {
    char *host;         /* owned; without brackets */
    char *port;         /* owned */
    char *path;         /* owned; of the endpoint */
    char *token;        /* owned; NULL: none is needed */
    tls_trust_t *trust; /* owned; NULL: plain HTTP */
    own_gateway_t *own; /* owned; NULL: the place was given by a URL */
} mcp_place_t;

/* Reads the URL of a gateway, "https://HOST:PORT/BASE/", and makes it the
 * endpoint's: of one session, or of all if it is NULL. `token` may be NULL; the
 * files are read if the URL is of HTTPS. */
int mcp_place_read(const char *url, const char *session, const char *token,
                   const tls_files_t *files, mcp_place_t *ret_place,
                   fault_t *fault);
void mcp_place_clear(mcp_place_t *self);
#define cleanup_mcp_place CLEANUP(mcp_place_clear)

/* Returns false if the user's own gateway no longer serves there. A place that
 * was given by a URL is always current. */
bool mcp_place_is_current(const mcp_place_t *self);
/* Connects a closed stream. -ESTALE, and the stream is closed, if the place is
 * not current: another program may listen there. Else as net_stream_open. */
int mcp_place_connect(const mcp_place_t *self, net_stream_t *stream,
                      fault_t *fault);

#endif
