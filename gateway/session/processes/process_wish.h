/* The process that a client wants to start, read from its request and checked.
 * Pure. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_WISH_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_WISH_H

#include "base/fault.h"
#include "gateway/session/processes/process.h"

/* Arguments, and names of the environment. */
#define PROCESS_TEXTS_MAX 4096

typedef struct {
    char **arguments;                 /* owned */
    char **environment;               /* owned; NAME=VALUE */
    char *arguments_json;             /* owned */
    char *folder;                     /* owned */
    char *key;                        /* owned; NULL: none was given */
    char digest[PROCESS_DIGEST_SIZE]; /* digest of all members that make the
                                         program */
    buffer_t input; /* owned; sent at the start, then the input ends */
    bool is_terminal;
    bool has_input; /* else its input is at its end, after `input` */
    bool follows;   /* the client gets the output */
    int64_t limit_ms;
    unsigned rows, columns; /* of its terminal */
    keeper_start_t texts;   /* lent from the lists */
} process_wish_t;

/* Reads the content of a process_start_request. -EINVAL says what is wrong. The
 * caller clears the wish in any case. */
int process_wish_read(process_wish_t *self, jspan_t content, fault_t *fault);
void process_wish_clear(process_wish_t *self);
#define cleanup_process_wish CLEANUP(process_wish_clear)
/* Copies the wish into the description of the process. */
void process_wish_describe(const process_wish_t *self, process_t *process);

#endif
