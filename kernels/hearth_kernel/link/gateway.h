/* The gateway at the other end. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_GATEWAY_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_GATEWAY_H

#include "kernels/hearth_kernel/link/state.h"

/* Accepts a gateway's connection, which replaces an earlier one: its gateway
 * may be dead. */
void link_accept(link_t *self);
void link_on_connection(link_t *self, uint32_t events);
void link_read_connection(link_t *self);

#endif
