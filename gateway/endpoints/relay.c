/* See relay.h. A request is passed on under a name that has its endpoint and
 * its client, "NAME.identity". An observer may only send requests that run
 * nothing. The bytes that wait for a viewer are bounded; the rest waits in the
 * journal. */
#include "gateway/endpoints/relay.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/session/kernel/publisher.h"
#include "protocol/jspan.h"
#include "protocol/observer_rules.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#define BATCH_MAX 64 /* requests in a row, then others have their turn */
#define IDENTITY_MAX                                                           \
    ((FRONTEND_CLIENT_MAX - ENDPOINT_NAME_SIZE) / 2) /* bytes */

/* --- Out --- */

/* Returns true beyond the endpoint's bound, or beyond a little if the memory is
 * full. */
static bool is_too_much(endpoint_t *self, size_t bytes)
{
    return bytes > ENDPOINT_UNTAKEN_MAX
           || (bytes > MEMORY_FREE
               && !memory_share_permits(self->home->memory, 0));
}

bool relay_is_full(endpoint_t *self)
{
    return is_too_much(self, channels_untaken(self->channels).outputs);
}

static bool has_many_replies(endpoint_t *self)
{
    return is_too_much(self, channels_untaken(self->channels).replies);
}

void relay_publish(endpoint_t *self, const wire_parts_t *parts)
{
    jspan_t header = {0};
    char topic[IOPUB_TOPIC_SIZE];
    fault_t fault;

    (void) jspan_check(parts->header.bytes, parts->header.size, &header,
                       &fault);
    cleanup_free char *type = jspan_text_new(jspan_member(header, "msg_type"));
    cleanup_free char *session =
        jspan_text_new(jspan_member(header, "session"));
    publisher_topic(type ? type : "", session ? session : "", parts->content,
                    topic);
    channels_publish(self->channels, topic, parts);
}

static bytes_t make_header(endpoint_t *self, const char *type, buffer_t *out)
{
    cleanup_free char *session =
        mem_format(MESSAGE_GATEWAY_SESSION "%s", self->name);
    cleanup_free char *id = mem_format("%s_%" PRIu64, session, ++self->counter);

    message_write_header(out, id, session, type, clock_wall_us());
    return buffer_bytes(out);
}

void relay_publish_made(endpoint_t *self, const char *type, bytes_t parent,
                        bytes_t content)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY;
    const wire_parts_t parts = {.header = make_header(self, type, &header),
                                .parent = parent,
                                .content = content};

    relay_publish(self, &parts);
}

void relay_publish_status(endpoint_t *self, const char *state, bytes_t parent)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    message_write_status(&content, state);
    relay_publish_made(self, "status", parent, buffer_bytes(&content));
}

bool relay_owns(const endpoint_t *self, bytes_t client)
{
    size_t size = ENDPOINT_NAME_SIZE - 1;

    return client.size > size && memcmp(client.bytes, self->name, size) == 0
           && ((const char *) client.bytes)[size] == '.';
}

void relay_send(endpoint_t *self, channel_t channel, bytes_t client,
                const wire_parts_t *parts)
{
    const char *hex = (const char *) client.bytes + ENDPOINT_NAME_SIZE;
    uint8_t identity[IDENTITY_MAX];
    bytes_t peer = {.bytes = identity};
    wire_parts_t addressed = *parts;

    if (sodium_hex2bin(identity, sizeof identity, hex,
                       client.size - ENDPOINT_NAME_SIZE, NULL, &peer.size, NULL)
        < 0)
        return;
    addressed.identities = &peer;
    addressed.identity_count = 1;
    channels_send(self->channels, channel, &addressed);
}

/* Sends a live message, unless the viewer has it or it waits in the journal. */
static void pass_on(endpoint_t *self, const frontend_event_t *event,
                    const wire_parts_t *parts)
{
    const journal_live_t live = {.seq = event->seq,
                                 .request = event->request,
                                 .is_broadcast = !event->client.size,
                                 .is_peer_full = !event->client.size
                                                 && relay_is_full(self)};

    switch (journal_follower_take(self->follower, &live)) {
    case JOURNAL_LIVE_DISCARD:
        return;
    case JOURNAL_LIVE_WAIT:
        self->home->ops->soon(self->home->arg);
        return;
    case JOURNAL_LIVE_SEND:
        break;
    }
    if (!event->client.size)
        relay_publish(self, parts);
    else if (relay_owns(self, event->client))
        relay_send(self, event->channel, event->client, parts);
    if (event->seq)
        endpoint_note(self);
}

void relay_on_event(endpoint_t *self, const frontend_event_t *event,
                    zmq_parcel_t **shared_p)
{
    const wire_parts_t parts = {.header = event->header,
                                .parent = event->parent,
                                .metadata = event->metadata,
                                .content = event->content,
                                .buffers = event->buffers,
                                .buffer_count = event->buffer_count,
                                .shared_p = shared_p};

    /* An endpoint that is not open yet may still get the answers to requests
     * from before a restart. */
    if (self->is_open || event->client.size)
        pass_on(self, event, &parts);
}

/* --- In --- */

static void refuse(endpoint_t *self, channel_t channel, const char *client,
                   const message_t *message, const char *ename,
                   const char *sentence)
{
    bytes_t parent = message_header(message);
    cleanup_buffer buffer_t header = BUFFER_EMPTY, content = BUFFER_EMPTY;
    char type[OBSERVER_RULES_TYPE_SIZE];

    if (!observer_rules_type(message_type(message), type))
        return;
    observer_rules_write(&content, ename, sentence);
    const wire_parts_t reply = {.header = make_header(self, type, &header),
                                .parent = parent,
                                .content = buffer_bytes(&content)};
    relay_publish_status(self, "busy", parent);
    if (strcmp(message_type(message), "execute_request") == 0)
        relay_publish_made(self, "error", parent, reply.content);
    relay_send(self, channel, text_bytes(client), &reply);
    relay_publish_status(self, "idle", parent);
}

/* Returns false if no client could be answered. */
static bool name_viewer(const endpoint_t *self, const message_t *message,
                        char ret_viewer[FRONTEND_CLIENT_MAX + 1])
{
    char hex[2 * IDENTITY_MAX + 1];
    bytes_t identity;

    if (message_identity_count(message) != 1)
        return false;
    identity = message_identity(message, 0);
    if (identity.size > IDENTITY_MAX)
        return false;
    sodium_bin2hex(hex, sizeof hex, identity.bytes, identity.size);
    snprintf(ret_viewer, FRONTEND_CLIENT_MAX + 1, "%s.%s", self->name, hex);
    return true;
}

static void on_request(endpoint_t *self, channel_t channel,
                       const message_t *message)
{
    char client[FRONTEND_CLIENT_MAX + 1];
    fault_t fault;
    int r;

    if (!name_viewer(self, message, client)) {
        log_warning("viewer=%s dropped a request: its socket's identity has "
                    "more than %d bytes",
                    self->name, IDENTITY_MAX);
        return;
    }
    if (self->is_observing
        && !observer_rules_is_needless(message_type(message))) {
        refuse(self, channel, client, message, "PermissionError",
               "this connection file may only observe; executing needs one "
               "that was made without --observe");
        return;
    }
    r = frontend_request(self->home->frontend, self->target->id, client,
                         channel, message, &fault);
    if (r < 0)
        refuse(self, channel, client, message,
               r == -EBADMSG ? "ValueError" : "KernelNotReady", fault.text);
}

static void take(endpoint_t *self, channel_t channel)
{
    for (int i = 0; i < BATCH_MAX; i++) {
        cleanup_message message_t *message = NULL;

        if (has_many_replies(self)) {
            channels_leave(self->channels, channel);
            return;
        }
        message = channels_receive(self->channels, channel);
        if (!message)
            return;
        on_request(self, channel, message);
    }
}

static int on_shell(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void) loop;
    (void) socket;
    take(arg, CHANNEL_SHELL);
    return 0;
}

static int on_control(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void) loop;
    (void) socket;
    take(arg, CHANNEL_CONTROL);
    return 0;
}

static int on_stdin(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void) loop;
    (void) socket;
    take(arg, CHANNEL_STDIN);
    return 0;
}

static int on_iopub(zloop_t *loop, zsock_t *socket, void *arg)
{
    endpoint_t *self = arg;

    (void) loop;
    (void) socket;
    channels_take_subscriptions(self->channels);
    endpoint_note(self); /* of all subscriptions that have ended */
    return 0;
}

static int on_heartbeat(zloop_t *loop, zsock_t *socket, void *arg)
{
    endpoint_t *self = arg;

    (void) loop;
    (void) socket;
    channels_beat(self->channels);
    return 0;
}

static void welcome(endpoint_t *self, bytes_t topic)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY, header = BUFFER_EMPTY;
    cleanup_free char *name = publisher_write_welcome(topic, &content);
    wire_parts_t parts = {0};

    if (!name)
        return;
    parts.content = buffer_bytes(&content);
    parts.header = make_header(self, "iopub_welcome", &header);
    channels_publish(self->channels, name, &parts);
}

static void on_subscription(void *arg, bool is_new, bytes_t topic)
{
    endpoint_t *self = arg;

    if (is_new) {
        welcome(self, topic);
        endpoint_note(self);
    }
    if (!self->is_open)
        self->home->ops->soon(self->home->arg);
}

static void on_bad_message(void *arg, channel_t channel, const char *verdict,
                           uint64_t count)
{
    const endpoint_t *self = arg;

    self->home->ops->note_bad(self->home->arg, self, channel, verdict, count);
}

void relay_listen(endpoint_t *self)
{
    zloop_t *loop = self->home->loop;

    channels_watch(self->channels, on_bad_message, self);
    channels_greet(self->channels, on_subscription, self);
    channels_listen(self->channels, CHANNEL_IOPUB, loop, on_iopub, self);
    channels_listen(self->channels, CHANNEL_HB, loop, on_heartbeat, self);
}

void relay_begin(endpoint_t *self)
{
    zloop_t *loop = self->home->loop;

    if (!journal_follower_is_behind(self->follower))
        journal_follower_begin(self->follower, self->target->seq);
    self->is_open = true;
    endpoint_note(self);
    channels_listen(self->channels, CHANNEL_SHELL, loop, on_shell, self);
    channels_listen(self->channels, CHANNEL_CONTROL, loop, on_control, self);
    if (!self->is_observing)
        channels_listen(self->channels, CHANNEL_STDIN, loop, on_stdin, self);
}

/* --- Time --- */

/* Sets the time since which a condition holds; 0: it does not hold. */
static void note_since(int64_t *since, bool is_so, int64_t now)
{
    if (!is_so)
        *since = 0;
    else if (!*since)
        *since = now;
}

static void part(endpoint_t *self, channel_t channel)
{
    unsigned count = channels_disconnect_slow(self->channels, channel);

    log_warning("viewer=%s session=%s channel=%d took nothing for too long: %u "
                "connections were closed",
                self->name, self->target->id, (int) channel, count);
}

void relay_on_tick(endpoint_t *self, int64_t now)
{
    int64_t patience = self->home->options->subscribers.patience_ms;
    bool has_room = !has_many_replies(self);

    (void) channels_retry(self->channels);
    note_since(&self->full_since, relay_is_full(self), now);
    note_since(&self->replies_since, !has_room, now);
    if (self->full_since && now - self->full_since > patience) {
        part(self, CHANNEL_IOPUB);
        self->full_since = 0;
    }
    if (self->replies_since && now - self->replies_since > patience) {
        part(self, CHANNEL_SHELL);
        part(self, CHANNEL_CONTROL);
        part(self, CHANNEL_STDIN);
        self->replies_since = 0;
    }
    if (has_room && self->is_open)
        channels_resume(self->channels);
}
