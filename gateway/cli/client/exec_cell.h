/* A cell of `hearth exec`: sends the code to a session and hears what becomes
 * of it. The command fills in what it connects to. The gateway is asked for the
 * session's state only when nothing arrives for a while. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_EXEC_CELL_H
#define HEARTH_GATEWAY_CLI_CLIENT_EXEC_CELL_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/cli/client/kernel_client.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/output_printer.h"
#include "gateway/cli/client/pending_cell.h"
#include "gateway/cli/core/prompt_input.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *session;             /* borrowed; as the user named it */
    management_client_t *management; /* owned */
    client_t *client;                /* owned */
    output_printer_t *outputs;       /* owned */
    prompt_input_t *answer;          /* owned; NULL if no person can be asked */
    pending_cell_t cell;             /* owned; what has come of it */
    json_t *revived;       /* owned; that the session was revived, or NULL */
    json_t *lost;          /* owned; the variables that were lost, or NULL */
    json_t *question;      /* owned; an input_request that is not shown yet */
    int64_t started;       /* monotonic ms */
    int64_t gone;          /* when its end was seen first, or 0 */
    int64_t shown;         /* the last progress line */
    bool has_failed;       /* a picture could not be saved */
    bool is_json;          /* print a document at the end, nothing before */
    bool is_for_model;     /* print a view at the end, nothing before */
    bool is_over;          /* no more to be expected: see `status` */
    gateway_exit_t status; /* when it is over without a reply */
} exec_cell_t;

/* Frees all that the cell owns. */
void exec_cell_clear(exec_cell_t *self);

/* Catches signals, and waits until the session's outputs can be heard. */
void exec_cell_prepare(exec_cell_t *self);
/* Sends the code; 0 means no time limit. Prints what is wrong. */
gateway_exit_t exec_cell_send(exec_cell_t *self, const buffer_t *code,
                              double time_limit);
/* Hears the cell until it is over. Each Ctrl-C interrupts it, and the third one
 * leaves it. */
void exec_cell_run(exec_cell_t *self);
/* Returns the signal that ends the program; 0 if there was none. */
int exec_cell_ending(void);

#endif
