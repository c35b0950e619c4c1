/* Converts requests of E2B's clients about commands, JSON of its service of
 * processes, into hearth's requests (docs/design/PROTOCOL.process.md). */
#ifndef HEARTH_GATEWAY_HTTP_E2B_COMMAND_REQUEST_H
#define HEARTH_GATEWAY_HTTP_E2B_COMMAND_REQUEST_H

#include "base/buffer.h"
#include "base/fault.h"

#include <jansson.h>

/* Settings of a start that the request does not have. */
typedef struct {
    json_t *variables; /* borrowed; the sandbox's, or NULL */
    double seconds;    /* after which it is ended; 0: there is no limit */
} command_start_t;

/* Each returns 0, or -errno with a sentence for the client. */

/* Reads a request to start a command or a terminal. `ret_content` is that of
 * process_start_request, for the caller. */
int command_request_start(const json_t *body, const command_start_t *start,
                          json_t **ret_content, fault_t *fault);
/* Reads which process is meant, by its number in the sandbox. */
int command_request_pid(const json_t *body, json_int_t *ret_pid,
                        fault_t *fault);
/* Appends the input that the request has. */
int command_request_input(const json_t *body, buffer_t *out, fault_t *fault);
/* Reads the signal, a name as hearth knows it. */
int command_request_signal(const json_t *body, const char **ret_name,
                           fault_t *fault);
/* Reads the size of a terminal. `ret_size`, for the caller, has "rows" and
 * "columns". */
int command_request_size(const json_t *body, json_t **ret_size, fault_t *fault);
/* Reads a time in ms as a header has it, NULL is 0: there is no limit. */
int command_request_time(const char *text, double *ret_seconds, fault_t *fault);

#endif
