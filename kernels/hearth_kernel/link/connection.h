/* The connection to the gateway. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_CONNECTION_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_CONNECTION_H

#include "kernels/hearth_kernel/link/state.h"

/* Has both Python's loop and the thread wait for the gateway: input wakes the
 * loop if it waits, else the thread. */
void link_watch_connection(link_t *self);
void link_close_connection(link_t *self);
/* Sends until the socket is full; then the thread goes on when it is not. */
void link_send_events(link_t *self);

#endif
