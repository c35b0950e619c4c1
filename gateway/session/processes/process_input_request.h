/* Handles process_input_request: what a client writes to a process. Under a key
 * it is passed on once, however often the request comes, also by the next
 * gateway. Runs in the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_INPUT_REQUEST_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_INPUT_REQUEST_H

#include "gateway/session/core/session.h"
#include "gateway/session/processes/process.h"

/* Passes the input on and answers the request. */
void process_input_request_serve(session_t *self, process_t *process,
                                 const request_t *request);

#endif
