/* Where the gateway's endpoint of MCP is, and how it is reached. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_PLACE_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_PLACE_H

#include "base/fault.h"
#include "gateway/cli/client/tls_trust.h"

typedef struct {
    char *host;         /* owned; without brackets */
    char *port;         /* owned */
    char *path;         /* owned; of the endpoint */
    char *token;        /* owned; NULL: none is needed */
    tls_trust_t *trust; /* owned; NULL: plain HTTP */
} mcp_place_t;

/* Reads the URL of a gateway, "https://HOST:PORT/BASE/", and makes it the
 * endpoint's: of one session, or of all if it is NULL. `token` may be NULL; the
 * files are read if the URL is of HTTPS. */
int mcp_place_read(const char *url, const char *session, const char *token,
                   const tls_files_t *files, mcp_place_t *ret_place,
                   fault_t *fault);
void mcp_place_clear(mcp_place_t *self);
#define cleanup_mcp_place CLEANUP(mcp_place_clear)

#endif
