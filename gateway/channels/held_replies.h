/* Replies whose clients are away: each waits for a minute, and in its order
 * for the same client. It decides what is sent when; the caller sends. Pure:
 * time is an argument. */
#ifndef HEARTH_GATEWAY_CHANNELS_HELD_REPLIES_H
#define HEARTH_GATEWAY_CHANNELS_HELD_REPLIES_H

#include "base/cleanup.h"
#include "protocol/channel.h"
#include "protocol/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define HELD_REPLIES_MS  (60 * 1000) /* how long one waits */
#define HELD_REPLIES_MAX 1024 /* that wait at a time; the oldest is dropped */
#define HELD_REPLIES_BYTES                                                     \
    (64 << 20) /* of all that wait; one may have any size */

typedef struct held_replies held_replies_t;

held_replies_t *held_replies_new(void);
void held_replies_destroy(held_replies_t **self_p);
#define cleanup_held_replies CLEANUP(held_replies_destroy)

/* Copies a reply, which waits from now on. `now` is monotonic, in ms. */
void held_replies_add(held_replies_t *self, channel_t channel,
                      const wire_parts_t *parts, int64_t now);
/* Returns true if a reply to this client waits on the channel: what comes later
 * must not overtake it. */
bool held_replies_wait_for(const held_replies_t *self, channel_t channel,
                           bytes_t identity);
/* Returns true if any reply waits. */
bool held_replies_are_there(const held_replies_t *self);

/* Sends a reply. -EHOSTUNREACH if its client is still away. */
typedef int held_replies_send_fn(void *arg, channel_t channel,
                                 const wire_parts_t *parts);
/* Sends replies that can be sent, and drops those that are too old. */
void held_replies_retry(held_replies_t *self, int64_t now,
                        held_replies_send_fn *send, void *arg);

#endif
