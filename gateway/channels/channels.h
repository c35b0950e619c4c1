/* The five sockets of a session: shell, control, stdin (ROUTER), iopub (XPUB),
 * hb (REP). Binds them, signs and sends; a reply whose client is away waits
 * for it. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_CHANNELS_CHANNELS_H
#define HEARTH_GATEWAY_CHANNELS_CHANNELS_H

#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/connection.h"
#include "protocol/message.h"
#include "protocol/wire.h"

#include <czmq.h>

typedef struct ports ports_t;

/* Binds as `connection` says; ports that are 0 are chosen by the system and
 * filled in. The secret stays the connection's. */
int ports_new(connection_t *connection, ports_t **ret_ports, fault_t *fault);
void ports_destroy(ports_t **self_p);
#define cleanup_ports CLEANUP(ports_destroy)

/* The handler is called when a channel has something; the loop ends before
 * the ports do, or is told to look no more. */
void ports_listen(ports_t *self, channel_t channel, zloop_t *loop,
                  zloop_reader_fn *handler, void *arg);
void ports_silence(ports_t *self);

/* The next request of a ROUTER channel that is genuine; NULL when there is
 * none for now. Bad ones are dropped and counted. */
message_t *ports_receive(ports_t *self, channel_t channel);
/* Who is told of bad ones: at most so often (base/rate.h), `count` of them at
 * once, of which this was the last. */
typedef void ports_watch_t(void *arg, channel_t channel, const char *verdict,
                           uint64_t count);
void ports_watch(ports_t *self, ports_watch_t *watch, void *arg);
uint64_t ports_dropped(const ports_t *self);

/* To the peers in `parts->identities`. A peer that is away gets it when it is
 * back, within a minute (ports_retry). */
void ports_send(ports_t *self, channel_t channel, const wire_parts_t *parts);
/* Whether something waits for a peer; tries again, gives up what is too old. */
bool ports_retry(ports_t *self);
bool ports_is_holding(const ports_t *self);
/* Replies that peers have not taken, in bytes of memory. */
size_t ports_replies(const ports_t *self);
/* Requests that wait may be read again, by who was called for them and left
 * them (ports_leave). */
void ports_resume(ports_t *self);
void ports_leave(ports_t *self, channel_t channel);
void ports_publish(ports_t *self, const char *topic, const wire_parts_t *parts);

/* Who is told of each subscription to iopub, and of each end of one: before
 * the next message is published, so that what he publishes to greet a
 * subscriber is the first that this one gets (JEP 65). libzmq applies
 * subscriptions by itself; one that arrives in the microseconds between that
 * look and the sending gets its greeting second. */
typedef void ports_greet_t(void *arg, bool is_new, bytes_t topic);
void ports_greet(ports_t *self, ports_greet_t *greet, void *arg);
/* Reads the subscriptions that wait. */
void ports_take_subscriptions(ports_t *self);
/* What was published and subscribers have not taken, in bytes of memory. */
size_t ports_backlog(const ports_t *self);
unsigned ports_subscribers(const ports_t *self);

/* Echoes the heartbeats that wait. */
void ports_beat(ports_t *self);

#endif
