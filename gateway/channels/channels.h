/* The five sockets of a session: shell, control, stdin (ROUTER), iopub (XPUB),
 * hb (REP). Binds them, signs and sends. A reply waits while its client is
 * disconnected. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_CHANNELS_CHANNELS_H
#define HEARTH_GATEWAY_CHANNELS_CHANNELS_H

#include "base/fault.h"
#include "gateway/channels/bind.h"
#include "protocol/channel.h"
#include "protocol/connection_file.h"
#include "protocol/message.h"
#include "protocol/wire.h"

#include <czmq.h>

typedef struct channels channels_t;

/* Binds the sockets as `connection` says; `place` is where the Unix sockets go
 * if that is TCP. The system chooses the ports that are 0, and they are filled
 * in. The connection stays the caller's, and outlives the channels. */
int channels_new(connection_file_t *connection, const channel_place_t *place,
                 channels_t **ret_channels, fault_t *fault);
void channels_destroy(channels_t **self_p);
#define cleanup_channels CLEANUP(channels_destroy)

/* Calls the handler when a channel has input. The loop must end before the
 * channels are destroyed, or channels_silence must be called. */
void channels_listen(channels_t *self, channel_t channel, zloop_t *loop,
                     zloop_reader_fn *handler, void *arg);
void channels_silence(channels_t *self);

/* Returns the next authentic request of a ROUTER channel, NULL if no request
 * waits. Messages that are not authentic are dropped and counted. */
message_t *channels_receive(channels_t *self, channel_t channel);
/* Gets reports of dropped messages: `count` since the last report, with the
 * verdict on the last one. base/rate.h limits their rate. */
typedef void channels_watch_t(void *arg, channel_t channel, const char *verdict,
                              uint64_t count);
void channels_watch(channels_t *self, channels_watch_t *watch, void *arg);
uint64_t channels_dropped(const channels_t *self);

/* Sends to the peers in `parts->identities`. A peer that is disconnected gets
 * the message when it returns within a minute (channels_retry). */
void channels_send(channels_t *self, channel_t channel,
                   const wire_parts_t *parts);
/* Tries to send messages that wait for disconnected peers, and drops those that
 * are too old. Returns true if some still wait. */
bool channels_retry(channels_t *self);
bool channels_is_holding(const channels_t *self);

/* Bytes of messages that peers have not taken. */
typedef struct {
    size_t outputs; /* published, by subscribers */
    size_t replies; /* and questions, by clients */
} channels_untaken_t;
/* Returns these bytes; zeros if `self` is NULL. */
channels_untaken_t channels_untaken(const channels_t *self);
/* Resumes reading a channel that its handler has left (channels_leave). */
void channels_resume(channels_t *self);
void channels_leave(channels_t *self, channel_t channel);
/* Publishes to those who have subscribed; costs almost nothing if none have.
 */
void channels_publish(channels_t *self, const char *topic,
                      const wire_parts_t *parts);

/* Gets each new subscription to iopub, and each end of one, before the next
 * message is published. So a welcome that is published here is the first
 * message that the new subscriber gets (JEP 65). libzmq applies subscriptions
 * by itself: one that arrives in the microseconds between the look and the
 * sending gets its welcome second. */
typedef void channels_greet_t(void *arg, bool is_new, bytes_t topic);
void channels_greet(channels_t *self, channels_greet_t *greet, void *arg);
/* Reads the subscriptions that wait. */
void channels_take_subscriptions(channels_t *self);
/* Returns how many connections to iopub have a subscription. */
unsigned channels_subscribers(channels_t *self);

/* Disconnects every peer of the channel that has not taken its messages;
 * returns how many. Such a peer connects again. */
unsigned channels_disconnect_slow(channels_t *self, channel_t channel);

/* Returns the gate's port of a channel; NULL if no TCP port leads to it. */
gate_port_t *channels_port(const channels_t *self, channel_t channel);

/* Echoes the heartbeats that wait. */
void channels_beat(channels_t *self);

#endif
