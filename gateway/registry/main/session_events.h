/* Handles the messages that sessions send to the registry over their lines. */
#ifndef HEARTH_GATEWAY_REGISTRY_MAIN_SESSION_EVENTS_H
#define HEARTH_GATEWAY_REGISTRY_MAIN_SESSION_EVENTS_H

#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"

/* Acts on one event of the session's actor, which is taken. The entry may be
 * freed. */
void session_events_take(const registry_parts_t *parts, session_entry_t *entry,
                         session_report_t **event_p);

#endif
