/* The gate before the TCP ports of sessions and viewers. libzmq bounds neither
 * what a message takes before its last frame has come, nor how much a client
 * subscribes to. A program that reaches a port can send that without the key.
 * So libzmq listens on Unix sockets alone. One thread accepts the TCP
 * connections, follows the frames that clients send, and passes all bytes on
 * unchanged. A connection that goes past a limit is closed, with a line in the
 * log and a record in the audit log. The thread runs from the first port on. */
#ifndef HEARTH_GATEWAY_GATE_GATE_H
#define HEARTH_GATEWAY_GATE_GATE_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/memory_budget.h"
#include "gateway/gate/port.h"
#include "protocol/channel.h"

typedef struct gate gate_t;

/* Makes the gate. Unfinished messages are a share of `memory`, which is
 * borrowed and may be NULL. One per program. */
int gate_new(memory_budget_t *memory, gate_t **ret_gate, fault_t *fault);
/* Gives clients a moment to take what closed sockets still send, then ends all
 * connections. The ports must be closed before. */
void gate_destroy(gate_t **self_p);
#define cleanup_gate CLEANUP(gate_destroy)

/* Serves a port from now on: connections of the listener, whose socket is taken
 * and must not block, lead to the Unix socket `inner`. While another program
 * has the port, the gate tries again four times a second. `session` is an id or
 * a name, for log and audit log. Every thread may call it. -ENOTCONN if the
 * program has no gate. */
int gate_open(const char *session, channel_t channel, const char *inner,
              listener_t listener, gate_port_t **ret_port, fault_t *fault);
/* Accepts no more connections at the port, which is free when this
 * returns. Connections that are there end with their inner side, or at once if
 * they have none yet. */
void gate_close(gate_port_t **port_p);

#endif
