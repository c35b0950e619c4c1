/* Opens the listening TCP sockets of the gate. */
#ifndef HEARTH_GATEWAY_GATE_LISTENER_H
#define HEARTH_GATEWAY_GATE_LISTENER_H

#include "base/fault.h"

/* Opens a socket that listens on a port, non-blocking and close-on-exec. `ip`
 * is an IPv4 or IPv6 address, the name of an interface, or "*" for every
 * address of IPv4. The system chooses a port that is 0, and it is filled in; a
 * port that is taken is waited for. */
int listener_open(const char *ip, int *port, int *ret_fd, fault_t *fault);

#endif
