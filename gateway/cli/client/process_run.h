/* Runs a program in a session and is its input and output. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_PROCESS_RUN_H
#define HEARTH_GATEWAY_CLI_CLIENT_PROCESS_RUN_H

#include <jansson.h>
#include <stdbool.h>

/* The ties between the command and its program. */
typedef enum {
    PROCESS_RUN_STREAMS,  /* it is the program's input and output */
    PROCESS_RUN_TERMINAL, /* the same, with this side's terminal */
    PROCESS_RUN_DETACHED, /* it prints the program's number and leaves */
} process_run_mode_t;

#define PROCESS_RUN_CANNOT_START 126
#define PROCESS_RUN_NO_PROGRAM   127

/* Starts what the process_start_request in `content`, which is taken, says, and
 * stays until it has ended, unless it is detached. Returns the exit status of
 * the command. */
int process_run(const char *session, bool may_start, process_run_mode_t mode,
                json_t *content);

#endif
