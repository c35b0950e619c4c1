/* The connections of one channel from which peers have sent something. libzmq
 * has no call that disconnects one peer, but names the descriptor of each
 * message (ZMQ_SRCFD). That connection can be shut down; the peer then connects
 * again. */
#ifndef HEARTH_GATEWAY_CHANNELS_PEERS_H
#define HEARTH_GATEWAY_CHANNELS_PEERS_H

#include <czmq.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
    int fd;                 /* libzmq's; may be closed by now */
    ino_t inode;            /* of the connection: another may have `fd` now */
    unsigned subscriptions; /* that it has sent and not ended */
} peer_t;

/* All zero at the beginning. */
typedef struct {
    peer_t *peers; /* owned; each descriptor once */
    size_t count;
    bool has_ended; /* some of them, maybe */
} peers_t;

void peers_clear(peers_t *self);
/* Takes one frame to the end of `frames`, and notes its connection unless
 * `self` is NULL. Returns true if the message has more frames. */
bool peers_take(peers_t *self, void *socket, zmsg_t *frames);
/* Notes a new subscription or the end of one, which an XPUB socket reports. */
void peers_subscribe(peers_t *self, zmq_msg_t *message, bool is_new);
/* Returns how many connections of the Unix socket at `path` have a
 * subscription. What a peer sends changes only whether its own connection
 * counts. */
unsigned peers_subscribers(peers_t *self, const char *path);
/* Shuts down every noted connection of the Unix socket at `path` that has not
 * taken what was written to it; returns how many. */
unsigned peers_disconnect_slow(peers_t *self, const char *path);

#endif
