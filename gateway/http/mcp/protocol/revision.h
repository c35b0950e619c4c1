/* Finds the revision of the Model Context Protocol that a request is of, and
 * checks the requirements of that revision. 2026-07-28 has no handshake: every
 * request names its revision and is complete. The revisions before it begin
 * with `initialize`. Pure functions. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_REVISION_H
#define HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_REVISION_H

#include "gateway/http/mcp/protocol/rpc_message.h"

#define REVISION_NEWEST "2026-07-28"
#define REVISION_LEGACY "2025-11-25" /* the last one with a handshake */

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"

typedef enum {
    ERA_MODERN, /* 2026-07-28: each request by itself */
    ERA_LEGACY, /* 2024-11-05 to 2025-11-25: after `initialize` */
} era_t;

/* The header lines that count; NULL: absent. */
typedef struct {
    const char *version; /* MCP-Protocol-Version */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name */
    const char *session; /* Mcp-Session-Id */
} revision_headers_t;

/* Returns the era of the message; whatever it lacks is found by
 * revision_check. */
era_t revision_era(const rpc_message_t *message,
                   const revision_headers_t *headers);
/* Returns true if the message has what its era demands of headers and `_meta`,
 * else fills the flaw. */
bool revision_check(const rpc_message_t *message,
                    const revision_headers_t *headers, rpc_flaw_t *ret_flaw);
/* Returns the revision that answers an `initialize` for this one. */
const char *revision_negotiate(const char *asked);
/* Returns an array of the revisions that are spoken, newest first, for the
 * caller. */
json_t *revision_list(void);
/* Returns the client's capabilities as a request of 2026-07-28 declares them;
 * lent. */
json_t *revision_capabilities(const rpc_message_t *message);

#endif
