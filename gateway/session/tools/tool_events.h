/* Handles the kernel's events of host tools: its code calls one, or does not
 * wait for an answer any more. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_EVENTS_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_EVENTS_H

#include "gateway/session/core/session.h"
#include "gateway/session/kernel/kernel_permissions.h"

/* Takes CALL. -EXXX if the journal cannot be written. */
int tool_events_on_call(session_t *self, const frame_t *frame,
                        const kernel_permissions_content_t *content,
                        fault_t *fault);
/* Takes UNCALL, likewise. */
int tool_events_on_uncall(session_t *self, const frame_t *frame,
                          const kernel_permissions_content_t *content,
                          fault_t *fault);

#endif
