/* The input of a process beside the kernel, on its way to the keeper. Runs in
 * the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_INPUT_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_INPUT_H

#include "gateway/session/processes/process.h"

/* Returns 0 if a number of bytes may be sent. -EBUSY if the process has not
 * read enough of the bytes before. */
int process_input_room(const process_t *process, size_t size, fault_t *fault);
/* Sends bytes to a process that has a link. -EBUSY if there is no room. */
int process_input_send(process_t *process, bytes_t bytes, fault_t *fault);
/* Ends the input after the bytes that were sent. */
int process_input_end(const process_t *process, fault_t *fault);

#endif
