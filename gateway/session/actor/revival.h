/* A session that is gone starts again, without its variables (revive.h). */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_REVIVAL_H
#define HEARTH_GATEWAY_SESSION_ACTOR_REVIVAL_H

#include "gateway/session/core/session.h"

/* Asks for a fresh kernel, under the session's id, ports and key. -EALREADY if
 * the session is alive. */
int revival_begin(session_t *self, fault_t *fault);
/* Keeps the outcome, a JSON object: in the journal, and for the client that
 * gets the next reply. */
int revival_report(session_t *self, const char *report, fault_t *fault);

#endif
