/* The connections of a session's iopub as the system sees them. libzmq knows
 * no way to part from one peer of an XPUB; its socket can be shut down, and
 * the peer connects anew. */
#ifndef HEARTH_GATEWAY_SUBSCRIBERS_H
#define HEARTH_GATEWAY_SUBSCRIBERS_H

#include "protocol/connection.h"

/* Shuts down every connection of iopub that has not taken what was written to
 * it; how many. */
unsigned subscribers_cut(const connection_t *connection);

#endif
