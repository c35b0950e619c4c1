/* The host tools that a process offers: names, descriptions and schemas, as it
 * has registered them. Read from hostile JSON; only what passes is kept. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_OFFER_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_OFFER_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>

#define TOOL_OFFER_MAX 256 /* tools of one offer */

typedef struct tool_offer tool_offer_t;

/* Reads an array of {"name", "description"?, "inputSchema"?}; other members are
 * ignored. -EINVAL says which tool is not as it must be. */
int tool_offer_read(bytes_t json, tool_offer_t **ret_offer, fault_t *fault);
void tool_offer_destroy(tool_offer_t **self_p);
#define cleanup_tool_offer CLEANUP(tool_offer_destroy)

/* Returns true if a text can be the name of a tool, or of a provider of tools:
 * at most TOOL_NAME_MAX letters, digits and "_", "-", ".", "/". */
bool tool_offer_is_name(const char *text);

/* How the name of a provider begins that is a server of the gateway's own
 * (profile/<name>/tools/servers); no other process can have such a name. */
#define TOOL_SERVER_PREFIX "hearth.cfg/"

/* The names by which code in a cell calls the gateway itself; no tool and no
 * provider can have them. Such a call is handled like a server's. */
#define TOOL_PACKAGES "hearth:packages" /* `%pip install` */
#define TOOL_FETCH    "hearth:fetch"    /* `%fetch`, `%clone` */
bool tool_offer_is_gateways(const char *name);

/* Returns true if calls of the provider go to the gateway: it is a server of
 * the gateway's own, or the gateway itself. */
bool tool_offer_is_server(const char *provider);

size_t tool_offer_size(const tool_offer_t *self);
/* Returns the index-th name, lent. */
const char *tool_offer_name(const tool_offer_t *self, size_t index);
bool tool_offer_has(const tool_offer_t *self, const char *name);
/* Begins an object of a JSON array with the members of the index-th tool. The
 * caller may add more and ends it. */
void tool_offer_begin(const tool_offer_t *self, size_t index, buffer_t *out);

#endif
