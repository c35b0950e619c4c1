/* Options that all sockets of a session have, and those of each type. */
#ifndef HEARTH_GATEWAY_CHANNELS_SOCKET_OPTIONS_H
#define HEARTH_GATEWAY_CHANNELS_SOCKET_OPTIONS_H

#include <czmq.h>

/* How long what was sent may still leave after a session's socket was closed.
 */
#define SOCKET_LINGER_MS 2000

/* Sets the options of a socket of that type, ZMQ_ROUTER, ZMQ_XPUB or ZMQ_REP,
 * before it is bound. */
void socket_options_set(zsock_t *socket, int type);

#endif
