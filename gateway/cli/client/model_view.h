/* Prints the output of a cell in the form for language models. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_MODEL_VIEW_H
#define HEARTH_GATEWAY_CLI_CLIENT_MODEL_VIEW_H

#include "gateway/cli/core/command.h"

#include <jansson.h>
#include <stdint.h>

/* Prints the view of a cell on standard output. `reply` is the content of its
 * reply, NULL without one, and `figures` what the gateway says about it there.
 * `duration_ms` is negative if the cell was not sent; `status` is the command's
 * own. */
void model_view_print(const char *session, const json_t *outputs,
                      const json_t *reply, const json_t *figures,
                      int64_t duration_ms, gateway_exit_t status);

#endif
