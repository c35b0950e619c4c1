/* Processes beside the kernel: started, followed, ended, taken over. What
 * clients request is in process_requests.h. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_CONTROL_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_CONTROL_H

#include "gateway/session/core/session.h"
#include "gateway/session/processes/process_wish.h"

/* Has the kernel start a process, which was added with its description and the
 * request that waits for the answer. The answer comes later. On failure the
 * process is removed, and the request is the caller's. -EAGAIN: the kernel
 * takes nothing at this moment. */
int process_control_start(session_t *self, process_t *process,
                          const process_wish_t *wish, fault_t *fault);

/* Returns true if a process without a terminal runs: the session is in use. */
bool process_control_keeps_awake(const session_t *self);
/* Notes that the kernel has ended, and all processes with it. */
void process_control_end_all(session_t *self);
/* Connects to the processes of another gateway that live; the others are lost.
 * The table has them from the journal (process_records_recall). */
void process_control_find(session_t *self);
/* Handles TIMER_PROCESSES; `session` is it. */
void process_control_on_timer(void *session);

#endif
