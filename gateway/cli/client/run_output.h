/* The output of a process in a session, on its way to this command's standard
 * output and error: taken in its order, held until its reader takes it. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_RUN_OUTPUT_H
#define HEARTH_GATEWAY_CLI_CLIENT_RUN_OUTPUT_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/cli/core/raw_terminal.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
    RUN_OUTPUT_OUT,
    RUN_OUTPUT_ERR,
    RUN_OUTPUTS
} run_output_stream_t;

typedef struct run_output run_output_t;

/* Returns an output without bytes, which the caller owns; both files stay the
 * caller's. Output to a terminal is printed as untrusted text. */
run_output_t *run_output_new(FILE *out, FILE *err);
void run_output_destroy(run_output_t **self_p);

/* Takes bytes that begin at `offset` in the output of both streams. What came
 * before is not taken again. Returns how many bytes before `offset` never came;
 * the first bytes may begin anywhere. */
uint64_t run_output_add(run_output_t *self, uint64_t offset,
                        run_output_stream_t stream, bytes_t bytes);
/* Returns the offset of the next byte that is expected. */
uint64_t run_output_next(const run_output_t *self);
/* Returns the offset up to which the output was written. Output whose reader
 * has gone counts as written. */
uint64_t run_output_written(const run_output_t *self);

/* Returns the descriptor that output of the stream waits for; -1 if none waits.
 */
int run_output_fd(const run_output_t *self, run_output_stream_t stream);
bool run_output_is_waiting(const run_output_t *self);
/* Writes what the descriptor takes at once. On a terminal that is all that
 * waits: one that is stopped stops this side, too. `raw`: the terminal while it
 * belongs to the process, or NULL. */
void run_output_write(run_output_t *self, run_output_stream_t stream,
                      raw_terminal_t *raw);

#endif
