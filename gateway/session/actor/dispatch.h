/* Dispatches clients' requests: they go to the kernel one at a time. So the
 * session knows at every moment which one runs, which wait and which ones an
 * abort takes away. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_DISPATCH_H
#define HEARTH_GATEWAY_SESSION_ACTOR_DISPATCH_H

#include "gateway/session/core/session.h"
#include "gateway/session/kernel/kernel_permissions.h"

/* Makes the request the running one, if the session is idle, and sends it to
 * the kernel; it is taken then. The kernel works while the clients get their
 * messages; its output is read later by this thread, so all of it comes after
 * these. */
void dispatch_start(session_t *self, request_t **request_p);
/* Sends a request to the kernel. If the link breaks, it is sent again on the
 * next connection; the kernel knows its number. */
void dispatch_send(session_t *self, const request_t *request);
/* Sends a comm message to the kernel beside the cell that awaits. It waits on
 * in the queue until its reply comes, or its turn. Does nothing if no cell
 * awaits. */
void dispatch_beside(session_t *self, request_t *request);
/* Sends all waiting comm messages to the kernel, as dispatch_beside does. */
void dispatch_all_beside(session_t *self);
/* Does what may be due after any event: sends the next request, counts memory,
 * announces a new state, tries held replies again. */
void dispatch_settle(session_t *self);
/* Returns true if a reply of this status to the running request aborts the
 * cells that wait. */
bool dispatch_aborts(const request_t *running, jspan_t status);
/* Ends the running request with the kernel's reply, whose JSON was checked;
 * `aborts`: it aborts the cells that wait. */
int dispatch_finish(session_t *self, const frame_t *frame,
                    const kernel_permissions_content_t *content, bool aborts,
                    fault_t *fault);
/* Ends a comm message that waits and was sent beside a cell, with the kernel's
 * reply (checked content). */
int dispatch_finish_beside(session_t *self, const request_t *request,
                           uint64_t kernel_seq, jspan_t content,
                           fault_t *fault);

/* Handle TIMER_CELL, TIMER_REPLIES and TIMER_RETRY; `session` is a session_t.
 */
void dispatch_on_cell_limit(void *session);
void dispatch_on_replies(void *session);
void dispatch_on_retry(void *session);

#endif
