/* Sessions that have no actor in this gateway yet: those that an earlier
 * gateway left, and those of which only files are left. */
#ifndef HEARTH_GATEWAY_REGISTRY_SESSIONS_ADOPT_H
#define HEARTH_GATEWAY_REGISTRY_SESSIONS_ADOPT_H

#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"
#include "protocol/message.h"

/* Takes over all sessions in the state folder with their kernels. Ends kernels
 * whose session is unknown. */
void adopt_take_all(const registry_parts_t *parts);
/* Adds a session that is gone and of which only files are left. */
int adopt_unearth(const registry_parts_t *parts, const char *id,
                  session_entry_t **ret_entry, fault_t *fault);
/* Starts a gone session again; the request is taken, and answered when the
 * kernel is ready. */
void adopt_revive(const registry_parts_t *parts, session_entry_t *entry,
                  message_t **request_p);

#endif
