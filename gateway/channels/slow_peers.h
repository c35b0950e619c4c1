/* The connections of a session's channels as the system sees them. libzmq knows
 * no way to part from one peer; its socket can be shut down, and the peer
 * connects anew. */
#ifndef HEARTH_GATEWAY_CHANNELS_SLOW_PEERS_H
#define HEARTH_GATEWAY_CHANNELS_SLOW_PEERS_H

#include "protocol/connection.h"

/* Shuts down every connection of the channel that has not taken what was
 * written to it; how many. */
unsigned peers_cut(const connection_t *connection, channel_t channel);

#endif
