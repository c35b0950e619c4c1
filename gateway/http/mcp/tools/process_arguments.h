/* Reads the arguments of the tool `session` that are about programs beside the
 * kernel: what they ask of the session (docs/design/PROTOCOL.process.md). The
 * arguments fit the tool's schema. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_PROCESS_ARGUMENTS_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_PROCESS_ARGUMENTS_H

#include "base/fault.h"

#include <jansson.h>
#include <stdbool.h>

/* Bytes of input that may come at a time: KEEPER_INPUT_MAX of a session. */
#define PROCESS_ARGUMENTS_INPUT (256u << 10)

/* Returns 0 if the action has a use for these arguments. -EINVAL names one that
 * it has none for, and the action that has. */
int process_arguments_check(const json_t *arguments, fault_t *fault);
/* Makes the content of a process_start_request, for the caller. -EINVAL says
 * what is missing. */
int process_arguments_start(const json_t *arguments, json_t **ret_content,
                            fault_t *fault);
/* Makes the content of a process_input_request, for the caller: of the action
 * write, or of close, which `ends` the input. -EINVAL says what is missing, or
 * that it is too much. */
int process_arguments_input(const json_t *arguments, bool ends,
                            json_t **ret_content, fault_t *fault);

#endif
