/* Sends clients messages about processes beside the kernel: replies, output,
 * ends. It decides nothing. Runs in the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_REPLIES_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_REPLIES_H

#include "gateway/session/core/session.h"
#include "gateway/session/processes/process.h"

/* From one TIMER_PROCESSES to the next. */
#define PROCESS_LOOK_MS 1000

/* Answers a request about a process with the process. */
void process_replies_answer(session_t *self, const request_t *request,
                            const process_t *process);
/* Answers a request with an error. */
void process_replies_refuse(session_t *self, const request_t *request,
                            const char *ename, const char *evalue);
/* Answers a request with a fault: -EAGAIN as SessionStarting, -EBUSY as
 * ProcessBusy, -EINVAL and -E2BIG as BadRequest. */
void process_replies_refuse_fault(session_t *self, const request_t *request,
                                  const fault_t *fault);
/* Returns true if the process runs; otherwise answers the request with an
 * error. */
bool process_replies_check_runs(session_t *self, const process_t *process,
                                const request_t *request);
/* Answers a request that starts, or has started, the process: with the process,
 * or with why it was not started. With `follows` the client gets the output,
 * and the request is taken. */
void process_replies_answer_begun(session_t *self, process_t *process,
                                  request_t **request_p, bool follows);
/* Answers the request that started the process, if that waits. */
void process_replies_answer_start(session_t *self, process_t *process);
/* Sends clients as much output as they have room for. When they have
 * everything, the process is read again. */
void process_replies_feed(session_t *self, process_t *process);
/* Reports to clients how much of the input the process has read, which makes
 * room for more. */
void process_replies_send_input(session_t *self, const process_t *process);

#endif
