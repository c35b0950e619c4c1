/* Handles clients' requests about processes beside the kernel, on control: the
 * process_… messages of docs/design/PROTOCOL.process.md. They are answered
 * while a cell runs, and none of them is journaled or announced on iopub. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_REQUESTS_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_REQUESTS_H

#include "gateway/session/core/session.h"

/* Serves a request about processes. Returns false if it is about
 * something else, and stays the caller's; otherwise it is taken. */
bool process_requests_serve(session_t *self, request_t **request_p);

#endif
