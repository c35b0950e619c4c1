/* See channels.h. The high-water marks are off: libzmq would drop the newest
 * message, which may be the `idle` that a client waits for, and counts
 * messages, not bytes. What lies on iopub is counted;
 * gateway/session/backpressure.c bounds it. */
#include "gateway/channels/channels.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rate.h"
#include "gateway/channels/bind.h"
#include "gateway/channels/zmq_reader.h"
#include "protocol/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zmq.h>

#define HOLD_MS    (60 * 1000) /* how long a reply waits for its client */
#define HOLD_MAX   1024        /* replies that wait, the oldest goes first */
#define HOLD_BYTES (64 << 20)
#define BEATS_MAX  100 /* echoes that wait for one peer */
#define LINGER_MS  2000
#define TURN_MAX   64 /* of what is taken in vain before others are heard */

/* A reply whose peer is not connected at the moment. */
typedef struct held {
    struct held *next;  /* owned */
    message_t *message; /* owned; identities, parts, buffers */
    channel_t channel;
    int64_t deadline; /* monotonic ms */
    size_t weight;    /* bytes */
} held_t;

struct ports {
    zsock_t *sockets[CHANNEL_COUNT];     /* owned */
    lookout_t *lookouts[CHANNEL_COUNT];  /* owned; NULL: not watched yet */
    history_t *histories[CHANNEL_COUNT]; /* owned; of the ROUTERs */
    const secret_t *secret;              /* borrowed from the connection */
    held_t *held;                        /* owned; oldest first */
    size_t held_count, held_weight;
    unsigned subscribers;
    uint64_t dropped;
    rate_t telling;       /* of those */
    backlog_t *backlog;   /* owned; of iopub */
    backlog_t *replies;   /* owned; of the ROUTERs */
    ports_watch_t *watch; /* who is told of each; NULL: nobody */
    void *watch_arg;      /* borrowed */
    ports_greet_t *greet; /* who is told of subscriptions; NULL: nobody */
    void *greet_arg;      /* borrowed */
    bool is_greeting;
};

static const int socket_types[CHANNEL_COUNT] = {
#define X(name, text, kernel, client, key) [CHANNEL_##name] = kernel,
    CHANNELS(X)
#undef X
};

/* Takes it out of the list at `at`. */
static void let_go(ports_t *self, held_t **at)
{
    held_t *held = *at;

    *at = held->next;
    self->held_count--;
    self->held_weight -= held->weight;
    message_destroy(&held->message);
    free(held);
}

void ports_destroy(ports_t **self_p)
{
    ports_t *self = *self_p;

    if (!self)
        return;
    while (self->held)
        let_go(self, &self->held);
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        lookout_destroy(&self->lookouts[i]);
        zsock_destroy(&self->sockets[i]);
        history_destroy(&self->histories[i]);
    }
    backlog_destroy(&self->backlog);
    backlog_destroy(&self->replies);
    free(self);
    *self_p = NULL;
}

/* Of one frame that comes in. Heartbeats and subscriptions are signed by
 * nobody: they have no more than they need. */
static int64_t largest_frame(int type)
{
    if (type == ZMQ_REP)
        return WIRE_BEAT_MAX;
    return type == ZMQ_XPUB ? WIRE_SUBSCRIPTION_MAX : WIRE_FRAME_MAX;
}

static void set_options(zsock_t *socket, int type)
{
    int64_t largest = largest_frame(type);

    /* A REP socket says that it has input, drops it when it is no request, and
     * would wait for the next one: nothing here ever waits. */
    zsock_set_rcvtimeo(socket, 0);
    zsock_set_sndhwm(socket, 0);
    zsock_set_rcvhwm(socket, 1000);
    zsock_set_linger(socket, LINGER_MS);
    zmq_setsockopt(zsock_resolve(socket), ZMQ_MAXMSGSIZE, &largest,
                   sizeof largest);
    if (type == ZMQ_ROUTER) {
        zsock_set_router_handover(socket, 1);
        zsock_set_router_mandatory(socket, 1);
    }
    /* Nobody signs heartbeats, and who takes no echoes needs none. */
    if (type == ZMQ_REP)
        zsock_set_sndhwm(socket, BEATS_MAX);
    if (type == ZMQ_XPUB) {
        int on = 1;
        /* Every subscription and every end of one is told, not only the
         * first and the last: a welcome for each, and a true count. */
        zmq_setsockopt(zsock_resolve(socket), ZMQ_XPUB_VERBOSER, &on,
                       sizeof on);
    }
}

static int bind_one(ports_t *self, channel_t channel, connection_t *connection,
                    fault_t *fault)
{
    zsock_t *socket = zsock_new(socket_types[channel]);

    if (!socket)
        return fault_set(fault, EMFILE, "no socket for %d: raise RLIMIT_NOFILE",
                         channel);
    self->sockets[channel] = socket;
    set_options(socket, socket_types[channel]);
    return listener_bind(socket, connection, channel, fault);
}

int ports_new(connection_t *connection, ports_t **ret_ports, fault_t *fault)
{
    cleanup_ports ports_t *self = mem_new(sizeof *self);

    self->secret = connection->secret;
    self->backlog = backlog_new();
    self->replies = backlog_new();
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        int r = bind_one(self, (channel_t) i, connection, fault);
        if (r < 0)
            return r;
        if (socket_types[i] == ZMQ_ROUTER)
            self->histories[i] = history_new(WIRE_HISTORY_SIZE);
    }
    *ret_ports = take_ptr(self);
    return 0;
}

void ports_listen(ports_t *self, channel_t channel, zloop_t *loop,
                  zloop_reader_fn *handler, void *arg)
{
    self->lookouts[channel] =
        lookout_new(loop, self->sockets[channel], handler, arg);
}

void ports_silence(ports_t *self)
{
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        if (self->lookouts[i])
            lookout_end(self->lookouts[i]);
        lookout_destroy(&self->lookouts[i]);
    }
}

static bool has_input(ports_t *self, channel_t channel)
{
    return self->lookouts[channel]
               ? lookout_has_input(self->lookouts[channel])
               : (zsock_events(self->sockets[channel]) & ZMQ_POLLIN) != 0;
}

static int send_parts(ports_t *self, channel_t channel,
                      const wire_parts_t *parts)
{
    if (self->lookouts[channel])
        lookout_touch(self->lookouts[channel]);
    return wire_send(zsock_resolve(self->sockets[channel]), parts,
                     self->secret);
}

void ports_watch(ports_t *self, ports_watch_t *watch, void *arg)
{
    self->watch = watch;
    self->watch_arg = arg;
}

uint64_t ports_dropped(const ports_t *self)
{
    return self->dropped;
}

/* Whoever reaches a port can send as much as he likes. */
static void drop(ports_t *self, channel_t channel, const char *verdict,
                 const char *why)
{
    uint64_t count;

    self->dropped++;
    if (!rate_allows(&self->telling, clock_monotonic_ms(), &count))
        return;
    if (self->watch)
        self->watch(self->watch_arg, channel, verdict, count);
    log_warning("dropped channel=%s verdict=\"%s\" why=\"%s\" count=%" PRIu64,
                channel_name(channel), verdict, why, count);
}

message_t *ports_receive(ports_t *self, channel_t channel)
{
    zsock_t *socket = self->sockets[channel];

    for (int i = 0; i < TURN_MAX && has_input(self, channel); i++) {
        zmsg_t *frames = zmsg_recv(socket);
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

static message_t *copy_parts(const wire_parts_t *parts)
{
    message_t *message = message_new(parts->header, parts->parent,
                                     parts->metadata, parts->content);

    for (size_t i = 0; i < parts->identity_count; i++)
        message_add_identity(message, parts->identities[i].bytes,
                             parts->identities[i].size);
    for (size_t i = 0; i < parts->buffer_count; i++)
        message_add_buffer(message, parts->buffers[i].bytes,
                           parts->buffers[i].size);
    return message;
}

static size_t weigh(const wire_parts_t *parts)
{
    size_t weight = parts->header.size + parts->parent.size
                    + parts->metadata.size + parts->content.size;

    for (size_t i = 0; i < parts->buffer_count; i++)
        weight += parts->buffers[i].size;
    return weight;
}

static void hold(ports_t *self, channel_t channel, const wire_parts_t *parts)
{
    held_t *held = mem_new(sizeof *held);
    held_t **end = &self->held;

    held->message = copy_parts(parts);
    held->channel = channel;
    held->deadline = clock_monotonic_ms() + HOLD_MS;
    held->weight = weigh(parts);
    while (*end)
        end = &(*end)->next;
    *end = held;
    self->held_count++;
    self->held_weight += held->weight;
    while (self->held_count > HOLD_MAX
           || (self->held_weight > HOLD_BYTES && self->held_count > 1))
        let_go(self, &self->held);
}

/* Whether something for that peer waits already, before `end` (NULL: at all):
 * what comes later must not overtake it when the peer is back. */
static bool waits(const ports_t *self, const held_t *end, channel_t channel,
                  bytes_t identity)
{
    for (const held_t *at = self->held; at != end; at = at->next) {
        bytes_t other = message_identity(at->message, 0);

        if (at->channel == channel && other.size == identity.size
            && memcmp(other.bytes, identity.bytes, identity.size) == 0)
            return true;
    }
    return false;
}

void ports_send(ports_t *self, channel_t channel, const wire_parts_t *parts)
{
    wire_parts_t counted = *parts;
    int r;

    if (parts->identity_count
        && waits(self, NULL, channel, parts->identities[0])) {
        ports_retry(self);
        if (waits(self, NULL, channel, parts->identities[0])) {
            hold(self, channel, parts);
            return;
        }
    }
    counted.backlog = self->replies;
    r = send_parts(self, channel, &counted);
    if (r == -EHOSTUNREACH)
        hold(self, channel, parts);
    else if (r < 0)
        log_warning("not sent channel=%d error=\"%s\"", channel, strerror(-r));
}

static int send_held(ports_t *self, const held_t *held)
{
    const message_t *message = held->message;
    bytes_t identities[WIRE_IDENTITIES_MAX];
    size_t count = message_identity_count(message);
    wire_parts_t parts = {
        .header = message_header(message),
        .parent = message_parent(message),
        .metadata = message_metadata(message),
        .content = message_content(message),
        .backlog = self->replies,
    };

    if (count > WIRE_IDENTITIES_MAX)
        count = WIRE_IDENTITIES_MAX;
    for (size_t i = 0; i < count; i++)
        identities[i] = message_identity(message, i);
    parts.identities = identities;
    parts.identity_count = count;
    return send_parts(self, held->channel, &parts);
}

bool ports_retry(ports_t *self)
{
    int64_t now = clock_monotonic_ms();
    held_t **at = &self->held;

    while (*at) {
        held_t *held = *at;

        if (held->deadline > now
            && (waits(self, held, held->channel,
                      message_identity(held->message, 0))
                || send_held(self, held) == -EHOSTUNREACH)) {
            at = &held->next;
            continue;
        }
        let_go(self, at);
    }
    return self->held != NULL;
}

bool ports_is_holding(const ports_t *self)
{
    return self->held != NULL;
}

void ports_greet(ports_t *self, ports_greet_t *greet, void *arg)
{
    self->greet = greet;
    self->greet_arg = arg;
}

static void take_subscription(ports_t *self, zframe_t *frame)
{
    const byte *data = zframe_data(frame);
    size_t size = zframe_size(frame);

    if (size == 0 || data[0] > 1)
        return; /* no subscription: anybody can send anything */
    if (data[0] == 1)
        self->subscribers++;
    else if (self->subscribers)
        self->subscribers--;
    if (self->greet)
        self->greet(self->greet_arg, data[0] == 1,
                    (bytes_t){data + 1, size - 1});
}

void ports_take_subscriptions(ports_t *self)
{
    if (self->is_greeting)
        return; /* what greets is published, too */
    self->is_greeting = true;
    while (has_input(self, CHANNEL_IOPUB)) {
        zframe_t *frame = zframe_recv(self->sockets[CHANNEL_IOPUB]);

        if (!frame)
            break;
        take_subscription(self, frame);
        zframe_destroy(&frame);
    }
    self->is_greeting = false;
}

static void before_publishing(void *arg)
{
    ports_take_subscriptions(arg);
}

void ports_publish(ports_t *self, const char *topic, const wire_parts_t *parts)
{
    bytes_t identity = {topic, strlen(topic)};
    wire_parts_t addressed = *parts;
    int r;

    addressed.backlog = self->backlog;
    addressed.before = before_publishing;
    addressed.before_arg = self;
    if (topic[0]) {
        addressed.identities = &identity;
        addressed.identity_count = 1;
    }
    r = send_parts(self, CHANNEL_IOPUB, &addressed);
    if (r < 0)
        log_warning("not published topic=%s error=\"%s\"", topic, strerror(-r));
}

size_t ports_replies(const ports_t *self)
{
    return backlog_weight(self->replies);
}

void ports_leave(ports_t *self, channel_t channel)
{
    if (self->lookouts[channel])
        lookout_leave(self->lookouts[channel]);
}

void ports_resume(ports_t *self)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (socket_types[i] == ZMQ_ROUTER && self->lookouts[i])
            lookout_touch(self->lookouts[i]);
}

size_t ports_backlog(const ports_t *self)
{
    return backlog_weight(self->backlog);
}

unsigned ports_subscribers(const ports_t *self)
{
    return self->subscribers;
}

void ports_beat(ports_t *self)
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
