/* How much a cell and a session may output. Output of a cell beyond its
 * allowance is dropped, and the cell is to be interrupted, so that its
 * variables stay. A kernel is to be ended when what outputs is no cell, and
 * when its session has used up the whole allowance. It decides; the session
 * acts. */
#ifndef HEARTH_GATEWAY_SESSION_LIMITS_OUTPUT_LIMIT_H
#define HEARTH_GATEWAY_SESSION_LIMITS_OUTPUT_LIMIT_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "kernels/profile.h"
#include "protocol/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the error that ends a cell; a longer one is output. */
#define OUTPUT_LIMIT_ERROR_MAX (64u << 10)

typedef struct output_limit output_limit_t;

/* Returns an allowance that is unused. `limits` are borrowed; `source` names
 * where they are set ("profile python"). */
output_limit_t *output_limit_new(const profile_limits_t *limits,
                                 const char *source);
void output_limit_destroy(output_limit_t **self_p);
#define cleanup_output_limit CLEANUP(output_limit_destroy)

/* Begins anew, for a fresh kernel. */
void output_limit_reset(output_limit_t *self);
/* Begins the allowance of a cell; `cell` is its execution_count. */
void output_limit_begin_cell(output_limit_t *self, int64_t cell);

/* Returns the bytes that a frame counts. */
size_t output_limit_weight(const frame_t *frame);
/* Returns true if the frame, of that weight, is output; others end a request,
 * answer the gateway or ask it for something. */
bool output_limit_bounds(const frame_t *frame, size_t weight);

/* Returns true if the running cell is past its limit when `bytes` and
 * `messages` are added, or was before. */
bool output_limit_is_past(output_limit_t *self, uint64_t bytes,
                          uint64_t messages);
/* Notes that a frame of the running cell was dropped. Returns true if it was
 * the first one: the cell has to be interrupted. */
bool output_limit_drop(output_limit_t *self, const frame_t *frame);
/* Returns the link number of the last dropped frame that is not in a record
 * yet; 0 if no such frame was dropped. */
uint64_t output_limit_dropped_seq(const output_limit_t *self);
/* Appends the record of what was dropped. */
void output_limit_write_dropped(const output_limit_t *self, buffer_t *out);
/* Notes that the record was written. */
void output_limit_forget_dropped(output_limit_t *self);

/* Counts a journaled message. Returns true if a limit is reached for which the
 * kernel has to end; `is_cell`: a cell runs. */
bool output_limit_count(output_limit_t *self, uint64_t bytes, bool is_output,
                        bool is_cell);

/* Counts a call as a message of its cell, and none of its bytes, before it is
 * counted as journaled; `is_cell`: a cell runs. Returns true if the cell is
 * past its limit by it and has to be interrupted. */
bool output_limit_count_call(output_limit_t *self, bool is_cell);

/* Returns the reached limit as a sentence, lent; "" if no limit was reached. */
const char *output_limit_text(const output_limit_t *self);
/* Returns its value. */
uint64_t output_limit_max(const output_limit_t *self);
/* Returns true if the running cell has reached its limit. */
bool output_limit_is_over(const output_limit_t *self);
/* Returns the bytes that the last cell has output. */
uint64_t output_limit_cell_bytes(const output_limit_t *self);

#endif
