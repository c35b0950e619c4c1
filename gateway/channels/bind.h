/* Binds the socket of one channel. A number of a port that is 0 in the
 * connection is chosen here. Where the address is one of IPv4 libzmq gets a
 * listening socket of ours (ZMQ_USE_FD): for each address that it binds by
 * itself it lists all interfaces of the machine, over netlink. */
#ifndef HEARTH_GATEWAY_CHANNELS_BIND_H
#define HEARTH_GATEWAY_CHANNELS_BIND_H

#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/connection.h"
#include "protocol/czmq_cleanup.h"

int listener_bind(zsock_t *socket, connection_t *connection, channel_t channel,
                  fault_t *fault);

#endif
