/* Keepers of processes beside the kernel: the gateway sends a listening socket
 * with KEEP, and a keeper is started with it. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_KEEPERS_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_KEEPERS_H

#include "kernels/hearth_kernel/link/state.h"

#include <sys/types.h>

/* Notes the environment of the session, before code of it runs. */
void link_keepers_begin(link_t *self);
/* Reads like recv(2). Descriptors that come along wait for their KEEP. */
ssize_t link_keepers_receive(link_t *self, void *bytes, size_t size);
/* Starts a keeper with the descriptor that came first. */
void link_keepers_start(link_t *self);
/* Closes descriptors whose KEEP did not come. */
void link_keepers_forget(link_t *self);

#endif
