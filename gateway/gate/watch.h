/* One socket of the gate in epoll: the events that epoll waits for, and the
 * object that handles them. */
#ifndef HEARTH_GATEWAY_GATE_WATCH_H
#define HEARTH_GATEWAY_GATE_WATCH_H

#include <stdint.h>

typedef enum {
    WATCH_PORT,
    WATCH_PEER,
    WATCH_INNER
} watch_kind_t;

typedef struct {
    watch_kind_t kind;
    void *owner;     /* borrowed; the port or the link */
    uint32_t events; /* that epoll waits for; 0: it does not know the socket */
} gate_watch_t;

/* Waits for other events at the socket. With 0 errors are not reported either,
 * so a socket on which nothing can be done does not wake the thread. */
void gate_watch_set(gate_watch_t *self, int epoll, int fd, uint32_t events);

#endif
