/* Limits of a session as a whole: acts on the decisions of resource_monitor.h.
 * Limits that had an effect are reported with their figures: in the reason of
 * an end, or in the journal if the session goes on. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_MONITORING_H
#define HEARTH_GATEWAY_SESSION_CORE_MONITORING_H

#include "gateway/session/core/session.h"

/* Watches a kernel in the control group `name`, "" for none, from now on. */
void monitoring_begin(session_t *self, const char *name);
/* Does the same for the kernel of a session that was taken over. */
void monitoring_adopt(session_t *self);
/* Stops watching: the kernel has ended, and its group ends now. The registry
 * gets a group whose processes are still dying. */
void monitoring_end(session_t *self);
/* Handles TIMER_RESOURCES; `session` is it. */
void monitoring_on_timer(void *session);
/* Sets the cause of the end, if it was a limit of the session. Returns true if
 * it was. */
bool monitoring_explain(session_t *self);
/* Notes that a cell begins: the next look comes soon. */
void monitoring_cell_begin(session_t *self);
/* Reports the limits that a cell has reached, as its kernel says in the reply.
 */
void monitoring_apply(session_t *self, jspan_t metadata, int64_t cell);

#endif
