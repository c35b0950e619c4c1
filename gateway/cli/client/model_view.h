/* Prints the output of a cell in the form for language models. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_MODEL_VIEW_H
#define HEARTH_GATEWAY_CLI_CLIENT_MODEL_VIEW_H

#include "gateway/cli/core/command.h"

#include <jansson.h>
#include <stdint.h>

/* A cell's report from the gateway. */
typedef struct {
    const json_t *reply;   /* borrowed; content of its reply, or NULL */
    const json_t *figures; /* borrowed; hearth's metadata there, or NULL */
    const json_t *lost;    /* borrowed; the loss of variables that the session
                              reports with the cell, or NULL */
} model_view_said_t;

/* Prints the view of a cell on standard output. `duration_ms` is negative if
 * the cell was not sent; `status` is the command's own. */
void model_view_print(const char *session, const json_t *outputs,
                      const model_view_said_t *said, int64_t duration_ms,
                      gateway_exit_t status);

#endif
