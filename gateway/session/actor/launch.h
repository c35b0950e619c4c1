/* The launch of a session's kernel, from the request for it to its READY. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_LAUNCH_H
#define HEARTH_GATEWAY_SESSION_ACTOR_LAUNCH_H

#include "gateway/session/core/session.h"

/* Notes that the registry has asked for a kernel in the control group `group`,
 * "" for none. `status` is where the launch reports, and is taken. The kernel's
 * listening sockets exist: data that is sent to them waits for it. */
void launch_begin(session_t *self, int status, const char *group);
/* Notes the kernel's process; `pidfd` is taken. */
void launch_note_process(session_t *self, pid_t pid, int pidfd);
/* Waits for the kernel to be ready, for as long as it may take. */
void launch_await_ready(session_t *self);
/* Makes the session ready once the kernel has reported READY and its process is
 * known, in whichever order. Ends it if its sandbox is not as it must be. */
void launch_admit(session_t *self);
/* Checks the sandbox of a kernel that another gateway launched. */
void launch_check_adopted(session_t *self);
/* Connects the link and greets the kernel. */
int launch_connect(session_t *self, fault_t *fault);

/* Handle TIMER_READY and TIMER_SEED; `session` is a session_t. */
void launch_on_unready(void *session);
void launch_on_seed(void *session);

#endif
