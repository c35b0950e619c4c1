/* The gateway at the other end. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_GATEWAY_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_GATEWAY_H

#include "kernels/hearth_kernel/link/state.h"

/* Takes the newest gateway for the right one: an older may be a dead one's. */
void link_accept(link_t *self);
void link_on_connection(link_t *self, uint32_t events);
void link_read_connection(link_t *self);

#endif
