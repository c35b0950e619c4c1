/* What the system counts of a connection. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_TCP_INFO_H
#define HEARTH_GATEWAY_HTTP_CORE_TCP_INFO_H

#include <stdint.h>

/* How many bytes of a TCP connection were read so far; 0: nobody knows. */
uint64_t received_bytes(int fd);

#endif
