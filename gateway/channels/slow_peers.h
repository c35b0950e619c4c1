/* The connections of one channel from which peers have sent something. libzmq
 * has no call that disconnects one peer, but names the descriptor of each
 * message (ZMQ_SRCFD). That connection can be shut down; the peer then connects
 * again. */
#ifndef HEARTH_GATEWAY_CHANNELS_SLOW_PEERS_H
#define HEARTH_GATEWAY_CHANNELS_SLOW_PEERS_H

#include <czmq.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero at the beginning. */
typedef struct {
    int *fds; /* owned; libzmq's, each once; some may be closed by now */
    size_t count;
} slow_peers_t;

void slow_peers_clear(slow_peers_t *self);
/* Notes the connection that a message came by. */
void slow_peers_note(slow_peers_t *self, zmq_msg_t *message);
/* Takes one frame to the end of `frames`, and notes its connection unless
 * `self` is NULL. Returns true if the message has more frames. */
bool slow_peers_take(slow_peers_t *self, void *socket, zmsg_t *frames);
/* Shuts down every noted connection of the Unix socket at `path` that has not
 * taken what was written to it; returns how many. */
unsigned slow_peers_disconnect(slow_peers_t *self, const char *path);

#endif
