/* Restores the state of host tools from the journal, for the next gateway: the
 * offers, and the calls that wait for their answers. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_RECOVERY_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_RECOVERY_H

#include "gateway/session/core/session.h"

/* Takes the next record of a session that is taken over. */
void tool_recovery_take(session_t *self, const journal_record_t *record);

#endif
