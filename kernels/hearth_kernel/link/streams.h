/* Printed text on its way to become events. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_STREAMS_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_STREAMS_H

#include "kernels/hearth_kernel/link/state.h"

/* Returns nanoseconds of the monotonic clock. */
int64_t link_now(void);
/* Starts the timer after which a partial line is sent. */
void link_arm_timer(link_t *self);
void link_on_timer(link_t *self);
/* Makes an event of the text that waits. */
void link_commit_text(link_t *self);
/* Reads what is in the pipes; it becomes text that waits. */
void link_drain_pipes(link_t *self);
void link_on_pipe(link_t *self, link_stream_t stream);
/* Sets epoll's events for the pipes; with 0, their writers wait. */
void link_watch_pipes(link_t *self, uint32_t events);

#endif
