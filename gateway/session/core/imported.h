/* Which packages the kernel has imported in another version than the session
 * has now: asked of a kernel without a cell, after a client has changed them.
 * The kernel's answer is a hint: it only chooses among the packages that have
 * changed. Lives in the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_IMPORTED_H
#define HEARTH_GATEWAY_SESSION_CORE_IMPORTED_H

#include "gateway/session/core/session.h"
#include "gateway/session/kernel/kernel_permissions.h"

/* Answers the request by `reply`, JSON of the answer to a packages_request,
 * with the member `restart`: names of `added` and `changed`, or null if the
 * kernel cannot say it now. */
void imported_ask(session_t *self, uint64_t token, const char *reply);
/* Takes LOOKED. */
int imported_on_looked(session_t *self, const frame_t *frame,
                       const kernel_permissions_content_t *content,
                       fault_t *fault);
/* Answers without the kernel; nothing happens if no client waits. As a
 * timers_handler_t. */
void imported_give_up(void *session);
/* Reads from WELCOME whether the kernel takes LOOK. */
void imported_greet(session_t *self, jspan_t welcome);
/* Forgets what is asked; the session ends. */
void imported_clear(session_t *self);

#endif
