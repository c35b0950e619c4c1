/* Processes beside a kernel, in lines for a model: the state of one, and a list
 * of all. The JSON is the session's (docs/design/PROTOCOL.process.md). */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_PROCESS_LINES_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_PROCESS_LINES_H

#include "base/buffer.h"

#include <jansson.h>

#include <stdbool.h>

bool process_lines_is_ended(const json_t *process);
json_int_t process_lines_number(const json_t *process);

/* Appends the line over a process's output; `session` is its session's id as
 * models see it. */
void process_lines_write_head(const json_t *process, const char *session,
                              buffer_t *out);
/* Appends a line for each process of the array, after one with the names of the
 * columns. */
void process_lines_write_list(const json_t *processes, buffer_t *out);

#endif
