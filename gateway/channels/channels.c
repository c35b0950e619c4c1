/* See channels.h. The high-water marks are off: libzmq would drop the newest
 * message, which may be the `idle` that a client waits for, and counts
 * messages, not bytes. What lies on iopub is counted;
 * gateway/session/limits/backpressure.c bounds it. */
#include "gateway/channels/channels.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rate.h"
#include "gateway/channels/held_replies.h"
#include "gateway/channels/peers.h"
#include "gateway/channels/socket_options.h"
#include "gateway/channels/zmq_reader.h"
#include "gateway/gate/port.h"
#include "protocol/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zmq.h>

#define TURN_MAX 64 /* bad messages that are read before other events */

struct channels {
    zsock_t *sockets[CHANNEL_COUNT];          /* owned */
    zmq_reader_t *readers[CHANNEL_COUNT];     /* owned; NULL: not watched yet */
    replay_guard_t *histories[CHANNEL_COUNT]; /* owned; of the ROUTERs */
    const secret_t *secret;                   /* borrowed from the connection */
    channel_binding_t bindings[CHANNEL_COUNT];
    peers_t peers[CHANNEL_COUNT];
    held_replies_t *held; /* owned */
    uint64_t dropped;
    rate_t log_rate;         /* of those */
    zmq_backlog_t *backlog;  /* owned; of iopub */
    zmq_backlog_t *replies;  /* owned; of the ROUTERs */
    channels_watch_t *watch; /* called for bad messages; or NULL */
    void *watch_arg;         /* borrowed */
    channels_greet_t *greet; /* called for subscriptions; or NULL */
    void *greet_arg;         /* borrowed */
    bool is_greeting;
};

static const int socket_types[CHANNEL_COUNT] = {
#define X(name, text, kernel, client, key) [CHANNEL_##name] = kernel,
    CHANNELS(X)
#undef X
};

void channels_destroy(channels_t **self_p)
{
    channels_t *self = *self_p;

    if (!self)
        return;
    held_replies_destroy(&self->held);
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        zmq_reader_destroy(&self->readers[i]);
        zsock_destroy(&self->sockets[i]);
        channel_unbind(&self->bindings[i]);
        replay_guard_destroy(&self->histories[i]);
        peers_clear(&self->peers[i]);
    }
    zmq_backlog_destroy(&self->backlog);
    zmq_backlog_destroy(&self->replies);
    free(self);
    *self_p = NULL;
}

static int bind_one(channels_t *self, channel_t channel,
                    connection_file_t *connection, const channel_place_t *place,
                    fault_t *fault)
{
    zsock_t *socket = zsock_new(socket_types[channel]);

    if (!socket)
        return fault_set(fault, EMFILE, "no socket for %d: raise RLIMIT_NOFILE",
                         channel);
    self->sockets[channel] = socket;
    socket_options_set(socket, socket_types[channel]);
    return channel_bind(socket, connection, channel, place,
                        &self->bindings[channel], fault);
}

int channels_new(connection_file_t *connection, const channel_place_t *place,
                 channels_t **ret_channels, fault_t *fault)
{
    cleanup_channels channels_t *self = mem_new(sizeof *self);

    self->secret = connection->secret;
    self->backlog = zmq_backlog_new();
    self->replies = zmq_backlog_new();
    self->held = held_replies_new();
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        int r = bind_one(self, (channel_t) i, connection, place, fault);
        if (r < 0)
            return r;
        if (socket_types[i] == ZMQ_ROUTER)
            self->histories[i] = replay_guard_new(WIRE_HISTORY_SIZE);
    }
    *ret_channels = take_ptr(self);
    return 0;
}

void channels_listen(channels_t *self, channel_t channel, zloop_t *loop,
                     zloop_reader_fn *handler, void *arg)
{
    self->readers[channel] =
        zmq_reader_new(loop, self->sockets[channel], handler, arg);
}

void channels_silence(channels_t *self)
{
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        if (self->readers[i])
            zmq_reader_end(self->readers[i]);
        zmq_reader_destroy(&self->readers[i]);
    }
}

static bool has_input(channels_t *self, channel_t channel)
{
    bool has = self->readers[channel]
                   ? zmq_reader_has_input(self->readers[channel])
                   : (zsock_events(self->sockets[channel]) & ZMQ_POLLIN) != 0;

    gate_port_looked(self->bindings[channel].port, has);
    return has;
}

static int send_parts(channels_t *self, channel_t channel,
                      const wire_parts_t *parts)
{
    if (self->readers[channel])
        zmq_reader_touch(self->readers[channel]);
    return wire_send(zsock_resolve(self->sockets[channel]), parts,
                     self->secret);
}

void channels_watch(channels_t *self, channels_watch_t *watch, void *arg)
{
    self->watch = watch;
    self->watch_arg = arg;
}

uint64_t channels_dropped(const channels_t *self)
{
    return self->dropped;
}

/* Drops a message. Any program that reaches a port can send as many as it
 * likes. */
static void drop(channels_t *self, channel_t channel, const char *verdict,
                 const char *why)
{
    uint64_t count;

    self->dropped++;
    if (!rate_allows(&self->log_rate, clock_monotonic_ms(), &count))
        return;
    if (self->watch)
        self->watch(self->watch_arg, channel, verdict, count);
    log_warning("dropped channel=%s verdict=\"%s\" why=\"%s\" count=%" PRIu64,
                channel_name(channel), verdict, why, count);
}

/* Reports a message to the gate, without the identity, which is libzmq's. */
static void note_taken(channels_t *self, channel_t channel, zmsg_t *frames)
{
    gate_port_took(self->bindings[channel].port,
                   zmsg_content_size(frames) - zframe_size(zmsg_first(frames)),
                   zmsg_size(frames) - 1);
}

/* Returns the next message of a ROUTER; NULL if none has come. libzmq names the
 * connection only with the frame after the identity: once it was asked for its
 * events, it does not with the identity itself. */
static zmsg_t *receive_frames(channels_t *self, channel_t channel)
{
    zsock_t *socket = self->sockets[channel];
    void *zmq_socket = zsock_resolve(socket);
    zmsg_t *frames = zmsg_new(), *rest = NULL;
    zframe_t *frame;

    if (peers_take(NULL, zmq_socket, frames)
        && peers_take(&self->peers[channel], zmq_socket, frames))
        rest = zmsg_recv(socket);
    while (rest && (frame = zmsg_pop(rest)))
        zmsg_append(frames, &frame);
    zmsg_destroy(&rest);
    if (zmsg_size(frames))
        note_taken(self, channel, frames);
    else
        zmsg_destroy(&frames);
    return frames;
}

unsigned channels_disconnect_slow(channels_t *self, channel_t channel)
{
    return peers_disconnect_slow(&self->peers[channel],
                                 self->bindings[channel].path);
}

message_t *channels_receive(channels_t *self, channel_t channel)
{
    for (int i = 0; i < TURN_MAX && has_input(self, channel); i++) {
        zmsg_t *frames = receive_frames(self, channel);
        message_t *message = NULL;
        wire_verdict_t verdict;
        fault_t fault;

        if (!frames)
            return NULL;
        verdict = wire_decode(frames, self->secret, self->histories[channel],
                              &message, &fault);
        zmsg_destroy(&frames);
        if (verdict == WIRE_OK && !message_is_gateways(message))
            return message;
        if (verdict == WIRE_OK)
            drop(self, channel, "reflected",
                 "the gateway signed it itself; it was sent back to it");
        else
            drop(self, channel, wire_verdict_name(verdict), fault.text);
        message_destroy(&message);
    }
    return NULL;
}

void channels_send(channels_t *self, channel_t channel,
                   const wire_parts_t *parts)
{
    wire_parts_t counted = *parts;
    int r;

    if (parts->identity_count
        && held_replies_wait_for(self->held, channel, parts->identities[0])) {
        channels_retry(self);
        if (held_replies_wait_for(self->held, channel, parts->identities[0])) {
            held_replies_add(self->held, channel, parts, clock_monotonic_ms());
            return;
        }
    }
    counted.backlog = self->replies;
    r = send_parts(self, channel, &counted);
    if (r == -EHOSTUNREACH)
        held_replies_add(self->held, channel, parts, clock_monotonic_ms());
    else if (r < 0)
        log_warning("not sent channel=%d error=\"%s\"", channel, strerror(-r));
}

static int send_again(void *arg, channel_t channel, const wire_parts_t *parts)
{
    channels_t *self = arg;
    wire_parts_t counted = *parts;

    counted.backlog = self->replies;
    return send_parts(self, channel, &counted);
}

bool channels_retry(channels_t *self)
{
    held_replies_retry(self->held, clock_monotonic_ms(), send_again, self);
    return held_replies_are_there(self->held);
}

bool channels_is_holding(const channels_t *self)
{
    return held_replies_are_there(self->held);
}

void channels_greet(channels_t *self, channels_greet_t *greet, void *arg)
{
    self->greet = greet;
    self->greet_arg = arg;
}

static void take_subscription(channels_t *self, zmq_msg_t *frame)
{
    const byte *data = zmq_msg_data(frame);
    size_t size = zmq_msg_size(frame);

    if (size == 0 || data[0] > 1)
        return; /* not a subscription: any program can send anything */
    peers_subscribe(&self->peers[CHANNEL_IOPUB], frame, data[0] == 1);
    if (self->greet)
        self->greet(self->greet_arg, data[0] == 1,
                    (bytes_t){data + 1, size - 1});
}

void channels_take_subscriptions(channels_t *self)
{
    if (self->is_greeting)
        return; /* greetings are published, too */
    self->is_greeting = true;
    while (has_input(self, CHANNEL_IOPUB)) {
        zmq_msg_t frame;
        bool is_there;

        zmq_msg_init(&frame);
        is_there =
            zmq_msg_recv(&frame, zsock_resolve(self->sockets[CHANNEL_IOPUB]),
                         ZMQ_DONTWAIT)
            >= 0;
        if (is_there)
            take_subscription(self, &frame);
        zmq_msg_close(&frame);
        if (!is_there)
            break;
    }
    self->is_greeting = false;
}

void channels_publish(channels_t *self, const char *topic,
                      const wire_parts_t *parts)
{
    wire_parts_t counted = *parts;
    int r;

    channels_take_subscriptions(self);
    if (self->readers[CHANNEL_IOPUB])
        zmq_reader_touch(self->readers[CHANNEL_IOPUB]);
    counted.backlog = self->backlog;
    r = wire_publish(zsock_resolve(self->sockets[CHANNEL_IOPUB]),
                     text_bytes(topic), &counted, self->secret);
    if (r < 0)
        log_warning("not published topic=%s error=\"%s\"", topic, strerror(-r));
}

channels_untaken_t channels_untaken(const channels_t *self)
{
    if (!self)
        return (channels_untaken_t){0};
    return (channels_untaken_t){.outputs = zmq_backlog_weight(self->backlog),
                                .replies = zmq_backlog_weight(self->replies)};
}

void channels_leave(channels_t *self, channel_t channel)
{
    if (self->readers[channel])
        zmq_reader_leave(self->readers[channel]);
    gate_port_leave(self->bindings[channel].port);
}

void channels_resume(channels_t *self)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (socket_types[i] == ZMQ_ROUTER && self->readers[i])
            zmq_reader_touch(self->readers[i]);
}

unsigned channels_subscribers(channels_t *self)
{
    return peers_subscribers(&self->peers[CHANNEL_IOPUB],
                             self->bindings[CHANNEL_IOPUB].path);
}

gate_port_t *channels_port(const channels_t *self, channel_t channel)
{
    return self->bindings[channel].port;
}

void channels_beat(channels_t *self)
{
    zsock_t *socket = self->sockets[CHANNEL_HB];

    for (int i = 0; i < TURN_MAX && has_input(self, CHANNEL_HB); i++) {
        zmsg_t *beat = zmsg_recv(socket);
        if (!beat)
            return;
        if (zmsg_send(&beat, socket) < 0)
            zmsg_destroy(&beat);
    }
}
