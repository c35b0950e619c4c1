/* Handles a kernel's output: merged, counted, journaled and published, or
 * dropped when its cell outputs more than it may. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_KERNEL_OUTPUT_H
#define HEARTH_GATEWAY_SESSION_ACTOR_KERNEL_OUTPUT_H

#include "gateway/session/core/session.h"
#include "gateway/session/kernel/kernel_permissions.h"
#include "protocol/span.h"

/* Returns true if the running cell exceeds its limit with this frame, an output
 * of that weight. Merged text that waits counts, too; text that joins it is not
 * a further message. */
bool kernel_output_is_past_limit(session_t *self, const frame_t *frame,
                                 size_t weight,
                                 const kernel_permissions_content_t *content);
/* Drops such a frame. For the first one the cell gets a remark, and is
 * interrupted. */
int kernel_output_drop(session_t *self, const frame_t *frame, fault_t *fault);
/* Merges the text of a STREAM with the text that waits, or publishes that
 * first. */
int kernel_output_stream(session_t *self, const frame_t *frame,
                         const kernel_permissions_stream_t *stream,
                         fault_t *fault);
/* Has an output wait that may (output_batch.h): it and those that follow are
 * journaled together. */
int kernel_output_add(session_t *self, const frame_t *frame, fault_t *fault);
/* Publishes what waits, and journals how much was dropped so far. */
int kernel_output_flush(session_t *self, fault_t *fault);
/* Publishes a frame that is a message. A KeyboardInterrupt that a limit caused
 * becomes the limit's error. */
int kernel_output_publish(session_t *self, const frame_t *frame,
                          const kernel_permissions_content_t *content,
                          fault_t *fault);
/* Forgets what waits: the kernel will send it again. */
void kernel_output_forget(session_t *self);
/* Counts a call of code; may interrupt its cell. */
void kernel_output_count_call(session_t *self);
/* Counts an event that is in the journal; may end the kernel. */
void kernel_output_count(session_t *self, uint64_t seq, size_t bytes,
                         bool is_output);
/* Returns the number of the event that the kernel has to send next. */
uint64_t kernel_output_next_seq(const session_t *self);

#endif
