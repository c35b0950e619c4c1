/* Describes the gateway for clients: profiles, counts, limits. */
#ifndef HEARTH_GATEWAY_REGISTRY_API_GATEWAY_INFO_H
#define HEARTH_GATEWAY_REGISTRY_API_GATEWAY_INFO_H

#include "gateway/registry/core/parts.h"

#include <jansson.h>

/* Returns the answer to gateway_info_request; the caller owns it. */
json_t *gateway_info(const registry_parts_t *parts);
/* Notes in the audit log which gateway starts, and which of the defaults'
 * layers its profiles leave out. */
void gateway_info_note(const registry_parts_t *parts);

#endif
