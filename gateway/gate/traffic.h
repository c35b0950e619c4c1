/* All ports and connections of the gate: what its thread does. It accepts,
 * passes on, counts, and closes what goes past a limit. One thread's. */
#ifndef HEARTH_GATEWAY_GATE_TRAFFIC_H
#define HEARTH_GATEWAY_GATE_TRAFFIC_H

#include "base/cleanup.h"
#include "base/memory_budget.h"
#include "gateway/gate/port.h"

#include <stdbool.h>

/* How long a client may take until its first command is complete. */
#define TRAFFIC_GREETING_MS 10000
/* How long one side may take what is left when the other one has ended. */
#define TRAFFIC_LEFT_MS 5000
/* How long clients may take what is left when the gate ends: libzmq's linger,
 * and a bit. */
#define TRAFFIC_STOP_MS 2500
/* Connections of all ports; fewer where descriptors are few. */
#define TRAFFIC_LINKS_MAX 10000

typedef struct traffic traffic_t;

/* Takes the descriptor of an epoll instance, which the caller may use for
 * sockets with the event data NULL. Unfinished messages are a share of
 * `memory`, which is borrowed and may be NULL. */
traffic_t *traffic_new(int epoll, memory_budget_t *memory);
void traffic_destroy(traffic_t **self_p);
#define cleanup_traffic CLEANUP(traffic_destroy)

/* Serves a port from now on; takes it. */
void traffic_open(traffic_t *self, gate_port_t *port);
/* Closes the listening socket of a port, which is freed with its last
 * connection. */
void traffic_close(traffic_t *self, gate_port_t *port);
/* Ends with the last connection, or after TRAFFIC_STOP_MS. */
void traffic_stop(traffic_t *self);
/* Waits for events and acts on them. ret_called says whether a socket of the
 * caller's was reported. Returns false at the end. */
bool traffic_turn(traffic_t *self, bool *ret_called);

#endif
