/* Events on their way to the gateway, kept until they are acknowledged, so
 * that the next gateway gets what this one may not have written down. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_OUTBOX_H
#define HEARTH_KERNELS_HEARTH_KERNEL_OUTBOX_H

#include "protocol/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct outbox outbox_t;

/* `retain`: how many bytes of events may wait for their acknowledgement. */
outbox_t *outbox_new(size_t retain);

/* Whether another event of that size may be put in; always when empty. */
bool outbox_has_room(const outbox_t *self, size_t size);
/* Appends an event; sets its seq. */
void outbox_put(outbox_t *self, frame_t *event);
/* The gateway has these. One that is half sent stays. */
void outbox_forget(outbox_t *self, uint64_t acked);

/* seq of the newest event, 0 before the first; of the oldest that is kept,
 * the next one's when none is. */
uint64_t outbox_newest(const outbox_t *self);
uint64_t outbox_oldest(const outbox_t *self);
/* Whether everything was sent on this connection. */
bool outbox_is_sent(const outbox_t *self);

/* A new connection: `greeting` goes first, then every event behind `acked`. */
void outbox_restart(outbox_t *self, const frame_t *greeting, uint64_t acked);
/* The connection is over. */
void outbox_stop(outbox_t *self);
/* Sends what the socket takes. 0: all; -EAGAIN: it is full; -errno. */
int outbox_send(outbox_t *self, int socket);

#endif
