/* The system call filter of the payload. */
#ifndef HEARTH_SANDBOX_FILTER_FILTER_H
#define HEARTH_SANDBOX_FILTER_FILTER_H

#include "base/fault.h"
#include "sandbox/policy/network.h"

#include <linux/filter.h>
#include <stdint.h>

/* A compiled system call filter. */
typedef struct {
    struct sock_filter *code; /* owned */
    unsigned short length;    /* instructions */
} filter_t;

/* Compiles the payload's filter for an architecture, by its AUDIT_ARCH number.
 * The caller clears `self`. */
int filter_build_for(filter_t *self, uint32_t arch, sandbox_network_t network,
                     fault_t *fault);
int filter_build_payload(filter_t *self, sandbox_network_t network,
                         fault_t *fault);
void filter_clear(filter_t *self);
int filter_load(const filter_t *self, fault_t *fault);

#endif
