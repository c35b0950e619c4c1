/* Small outputs that a kernel sends in a row, such as displays: copies, which
 * wait until all of them are journaled by one write. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_KERNEL_OUTPUT_BATCH_H
#define HEARTH_GATEWAY_SESSION_KERNEL_OUTPUT_BATCH_H

#include "base/cleanup.h"
#include "protocol/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_BATCH_MAX   64          /* outputs */
#define OUTPUT_BATCH_BYTES (64u << 10) /* of all of them */
#define OUTPUT_BATCH_EACH  (8u << 10)  /* bytes of one of them */

typedef struct output_batch output_batch_t;

output_batch_t *output_batch_new(void);
void output_batch_destroy(output_batch_t **self_p);
#define cleanup_output_batch CLEANUP(output_batch_destroy)

/* Returns true if an output may wait: it is small and has no buffers. */
bool output_batch_permits(const frame_t *frame);
/* Returns true if there is room for one more that may wait. */
bool output_batch_has_room(const output_batch_t *self, const frame_t *frame);
/* Adds an output, for which there has to be room. */
void output_batch_add(output_batch_t *self, const frame_t *frame);
/* Returns how many outputs wait. */
size_t output_batch_count(const output_batch_t *self);
/* Returns the bytes of those: their metadata and contents. */
size_t output_batch_bytes(const output_batch_t *self);
/* Returns one of them, lent until the next change; 0 is the oldest. */
frame_t output_batch_frame(const output_batch_t *self, size_t index);
/* Returns the number, on the link, of the last one; 0: none waits. */
uint64_t output_batch_seq(const output_batch_t *self);
/* Drops the oldest ones: they were published. */
void output_batch_take(output_batch_t *self, size_t count);
/* Drops all: they are to come again. */
void output_batch_clear(output_batch_t *self);

#endif
