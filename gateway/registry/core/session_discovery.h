/* Keeps the file by which Jupyter's programs find a session (discovery.h) in
 * step with the session. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_SESSION_DISCOVERY_H
#define HEARTH_GATEWAY_REGISTRY_CORE_SESSION_DISCOVERY_H

#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"

/* Writes the file if the session has an owner and can be reached, and removes
 * it if not. Called for each session that comes, becomes ready, is handed out
 * or goes. Does nothing if discovery is off. */
void session_discovery_follow(const registry_parts_t *parts,
                              session_entry_t *entry);

#endif
