/* Handles the kernel's frames: they are checked, journaled and published.
 * Stream text that waits already is merged into one message. A frame that
 * breaks a rule ends the kernel. A journal that cannot be written closes the
 * link until it can: the kernel keeps events that were not acknowledged, so
 * nothing is lost. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_KERNEL_EVENTS_H
#define HEARTH_GATEWAY_SESSION_ACTOR_KERNEL_EVENTS_H

#include "gateway/session/core/session.h"

/* Reads the frames that the kernel has sent, as far as subscribers permit. */
void kernel_events_read(session_t *self);
/* Acts on a link that was closed. */
void kernel_events_on_closed(session_t *self);

/* Handle TIMER_JOURNAL, TIMER_OUTPUTS and TIMER_LINK; `session` is a session_t.
 */
void kernel_events_on_journal(void *session);
void kernel_events_on_outputs(void *session);
void kernel_events_on_link(void *session);

#endif
