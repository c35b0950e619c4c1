/* Opens the listening TCP sockets of the gate. */
#ifndef HEARTH_GATEWAY_GATE_LISTENER_H
#define HEARTH_GATEWAY_GATE_LISTENER_H

#include "base/fault.h"
#include "base/tcp.h"

#include <stdbool.h>

/* A socket that listens, and where. */
typedef struct {
    tcp_address_t address;
    int fd; /* owned; -1: another program has the port */
} listener_t;

/* Opens a socket that listens on a port, non-blocking and close-on-exec. `ip`
 * is an IPv4 or IPv6 address, the name of an interface, or "*" for every
 * address of IPv4. The system chooses a port that is 0. */
int listener_open(const char *ip, int port, listener_t *ret_listener,
                  fault_t *fault);
/* Does the same for a port that was the caller's before. If another program has
 * that port now, this is no error: there is an address without a descriptor,
 * and listener_retry is called from time to time. */
int listener_reopen(const char *ip, int port, listener_t *ret_listener,
                    fault_t *fault);
/* Opens a socket at an address. -EADDRINUSE if another program still has the
 * port. */
int listener_retry(tcp_address_t *address, int *ret_fd);

#endif
