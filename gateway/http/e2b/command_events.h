/* Converts a session's messages about processes
 * (docs/design/PROTOCOL.process.md) into the events of commands that E2B's
 * clients read. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_COMMAND_EVENTS_H
#define HEARTH_GATEWAY_HTTP_E2B_COMMAND_EVENTS_H

#include "base/buffer.h"
#include "base/bytes.h"

#include <jansson.h>
#include <stdbool.h>

/* Appends the beginning of a process. `process` is as the session shows it. */
void command_events_start(const json_t *process, buffer_t *out);
/* Appends output; `stream` is "stdout", "stderr" or "pty". */
void command_events_output(const char *stream, bytes_t bytes, buffer_t *out);
void command_events_keep_alive(buffer_t *out);
/* Appends the end of the process, and of the stream: an error if it is not
 * known how it has ended, or if its time was over. */
void command_events_end(const json_t *process, buffer_t *out);

/* Returns the list of the processes that run, for the caller. */
json_t *command_events_list(const json_t *processes);
/* Returns the process of that number in the sandbox, lent: the one that runs,
 * or with `has_ended` the last one that has ended. NULL if it is missing. */
const json_t *command_events_find(const json_t *processes, json_int_t pid,
                                  bool has_ended);

#endif
