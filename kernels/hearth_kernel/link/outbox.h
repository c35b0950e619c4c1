/* Events on their way to the gateway, kept until they are acknowledged: the
 * next gateway gets those that this one may not have journaled. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_OUTBOX_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_OUTBOX_H

#include "protocol/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct outbox outbox_t;

/* Makes an outbox. `retain` is the size of unacknowledged events that may be
 * kept. */
outbox_t *outbox_new(size_t retain);

/* Returns true if an event of that size may be added; always if it is empty. */
bool outbox_has_room(const outbox_t *self, size_t size);
/* Appends an event; sets its seq. */
void outbox_put(outbox_t *self, frame_t *event);
/* Drops the events that the gateway has. A half-sent one is kept. */
void outbox_forget(outbox_t *self, uint64_t acked);

/* Return the seq of the newest event, 0 before the first; and the seq of the
 * oldest event that is kept. If none is kept, the second is the seq of the next
 * event. */
uint64_t outbox_newest(const outbox_t *self);
uint64_t outbox_oldest(const outbox_t *self);
/* Returns true if everything was sent on this connection. */
bool outbox_is_sent(const outbox_t *self);

/* Begins a new connection: sends `greeting`, then every event after `acked`. */
void outbox_restart(outbox_t *self, const frame_t *greeting, uint64_t acked);
/* Ends the connection. */
void outbox_stop(outbox_t *self);
/* Sends what the socket takes. Returns 0 if all was sent, -EAGAIN if the socket
 * is full, else -errno. */
int outbox_send(outbox_t *self, int socket);

#endif
