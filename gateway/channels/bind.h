/* Binds the socket of one channel. libzmq listens on a Unix socket in any case.
 * Where the connection file names TCP, the gate listens there, and leads to
 * that socket. */
#ifndef HEARTH_GATEWAY_CHANNELS_BIND_H
#define HEARTH_GATEWAY_CHANNELS_BIND_H

#include "base/fault.h"
#include "gateway/gate/port.h"
#include "protocol/channel.h"
#include "protocol/connection_file.h"
#include "protocol/czmq_cleanup.h"

/* Where the sockets of a session or viewer are. */
typedef struct {
    const char *name;   /* its id or name, for log and audit log */
    const char *prefix; /* of its Unix sockets, to which the gate leads; "-1"
                           and so on follow */
    bool is_restored;   /* the TCP ports were its own before: those that another
                           program has now are waited for */
} channel_place_t;

/* A socket that is bound. */
typedef struct {
    char *path;        /* owned; of its Unix socket */
    gate_port_t *port; /* the gate's; NULL: no TCP port leads to it */
} channel_binding_t;

/* Binds the socket of a channel at the place that the connection names. For a
 * TCP port of 0 the system chooses one, which is put into the connection.
 * -EADDRINUSE if another program has the port, unless it is waited for. The
 * caller unbinds *ret_binding, also after a failure. */
int channel_bind(zsock_t *socket, connection_file_t *connection,
                 channel_t channel, const channel_place_t *place,
                 channel_binding_t *ret_binding, fault_t *fault);
/* Closes the TCP port and forgets the path. Connections that are there end with
 * the socket. */
void channel_unbind(channel_binding_t *binding);

#endif
