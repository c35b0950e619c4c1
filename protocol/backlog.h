/* Bytes that libzmq holds for peers that have not taken them. It queues
 * without telling how much; but it says when it lets a message go, after the
 * last peer's socket took it or the peer is no more, and that is counted. */
#ifndef HEARTH_PROTOCOL_BACKLOG_H
#define HEARTH_PROTOCOL_BACKLOG_H

#include "base/cleanup.h"

#include <stddef.h>

typedef struct backlog backlog_t;

backlog_t *backlog_new(void);
/* What is still held is let go later, by libzmq's own thread. */
void backlog_destroy(backlog_t **self_p);

/* What the messages weigh that are held now. */
size_t backlog_weight(const backlog_t *self);

/* zmq_send of a copy of `bytes` that counts `weight` until libzmq lets it go;
 * 0 or -errno. */
int backlog_send(backlog_t *self, void *zmq_socket, const void *bytes,
                 size_t size, size_t weight, int flags);

#endif
