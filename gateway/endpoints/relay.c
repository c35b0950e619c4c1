/* What goes through a door. In: what the viewer's key has signed, handed on
 * under a name that says by which door and from whom, "NAME.identity"; from
 * one who only looks, what runs nothing. Out: what its session tells everybody
 * and this viewer, signed with the viewer's key. A viewer who takes nothing
 * has bounded bytes lying here; the rest waits in the journal. */
#include "gateway/endpoints/internal.h"

#include "base/log.h"
#include "gateway/channels/slow_peers.h"
#include "gateway/session/publisher.h"
#include "protocol/json.h"
#include "protocol/observer_rules.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#define BATCH_MAX    64 /* requests in a row, then others have their turn */
#define IDENTITY_MAX ((FRONT_VIEWER_MAX - DOOR_NAME_SIZE) / 2) /* bytes */

/* --- Out --- */

bool door_is_full(const door_t *self)
{
    return ports_backlog(self->ports) > DOOR_UNTAKEN_MAX;
}

void door_publish(door_t *self, const wire_parts_t *parts)
{
    json_span_t header = {0};
    char topic[OUTPUT_TOPIC_SIZE];
    fault_t fault;

    (void) json_check(parts->header.bytes, parts->header.size, &header, &fault);
    cleanup_free char *type = json_text_new(json_member(header, "msg_type"));
    cleanup_free char *session = json_text_new(json_member(header, "session"));
    output_topic(type ? type : "", session ? session : "", parts->content,
                 topic);
    ports_publish(self->ports, topic, parts);
}

static bytes_t make_header(door_t *self, const char *type, buffer_t *out)
{
    cleanup_free char *session =
        mem_format(MESSAGE_GATEWAY_SESSION "%s", self->name);
    cleanup_free char *id = mem_format("%s_%" PRIu64, session, ++self->counter);

    message_write_header(out, id, session, type, clock_wall_us());
    return (bytes_t){out->data, out->size};
}

void door_publish_made(door_t *self, const char *type, bytes_t parent,
                       bytes_t content)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY;
    const wire_parts_t parts = {.header = make_header(self, type, &header),
                                .parent = parent,
                                .content = content};

    door_publish(self, &parts);
}

void door_status(door_t *self, const char *state, bytes_t parent)
{
    char content[64];
    int size = snprintf(content, sizeof content, "{\"execution_state\":\"%s\"}",
                        state);

    door_publish_made(self, "status", parent,
                      (bytes_t){content, (size_t) size});
}

bool door_owns(const door_t *self, bytes_t viewer)
{
    size_t size = DOOR_NAME_SIZE - 1;

    return viewer.size > size && memcmp(viewer.bytes, self->name, size) == 0
           && ((const char *) viewer.bytes)[size] == '.';
}

void door_send(door_t *self, channel_t channel, bytes_t viewer,
               const wire_parts_t *parts)
{
    const char *hex = (const char *) viewer.bytes + DOOR_NAME_SIZE;
    uint8_t identity[IDENTITY_MAX];
    bytes_t peer = {.bytes = identity};
    wire_parts_t addressed = *parts;

    if (sodium_hex2bin(identity, sizeof identity, hex,
                       viewer.size - DOOR_NAME_SIZE, NULL, &peer.size, NULL)
        < 0)
        return;
    addressed.identities = &peer;
    addressed.identity_count = 1;
    ports_send(self->ports, channel, &addressed);
}

static bool has_idled(const door_t *self, uint64_t request)
{
    for (size_t i = 0; request && i < DOOR_IDLED; i++)
        if (self->idled[i] == request)
            return true;
    return false;
}

/* Everybody's, and in its place: what stands in the journal can wait there. */
static void on_broadcast(door_t *self, const front_event_t *event,
                         const wire_parts_t *parts)
{
    if (!self->is_behind && door_is_full(self))
        self->is_behind = true;
    if (!self->is_open || (event->seq && event->seq <= self->cursor))
        return;
    if (self->is_behind && (event->seq || event->request)) {
        keeper_look_soon(self->keeper);
        return;
    }
    if (event->seq || !has_idled(self, event->request))
        door_publish(self, parts);
}

static void on_answer(door_t *self, const front_event_t *event,
                      const wire_parts_t *parts)
{
    if (event->seq && (event->seq <= self->cursor || self->is_behind))
        return;
    door_send(self, event->channel, event->viewer, parts);
}

void door_on_event(door_t *self, const front_event_t *event)
{
    const wire_parts_t parts = {.header = event->header,
                                .parent = event->parent,
                                .metadata = event->metadata,
                                .content = event->content,
                                .buffers = event->buffers,
                                .buffer_count = event->buffer_count};

    if (!event->viewer.size)
        on_broadcast(self, event, &parts);
    else if (door_owns(self, event->viewer))
        on_answer(self, event, &parts);
    if (!self->is_open || self->is_behind || event->seq <= self->cursor)
        return;
    self->cursor = event->seq;
    door_note(self);
}

/* --- In --- */

static void refuse(door_t *self, channel_t channel, const char *viewer,
                   const message_t *message, const char *ename,
                   const char *sentence)
{
    bytes_t parent = message_header(message);
    cleanup_buffer buffer_t header = BUFFER_EMPTY, content = BUFFER_EMPTY;
    char type[REFUSAL_TYPE_SIZE];

    if (!refusal_type(message_type(message), type))
        return;
    refusal_write(&content, ename, sentence);
    const wire_parts_t reply = {.header = make_header(self, type, &header),
                                .parent = parent,
                                .content = {content.data, content.size}};
    door_status(self, "busy", parent);
    if (strcmp(message_type(message), "execute_request") == 0)
        door_publish_made(self, "error", parent, reply.content);
    door_send(self, channel, (bytes_t){viewer, strlen(viewer)}, &reply);
    door_status(self, "idle", parent);
}

/* False: nobody could be answered. */
static bool name_viewer(const door_t *self, const message_t *message,
                        char ret_viewer[FRONT_VIEWER_MAX + 1])
{
    char hex[2 * IDENTITY_MAX + 1];
    bytes_t identity;

    if (message_identity_count(message) != 1)
        return false;
    identity = message_identity(message, 0);
    if (identity.size > IDENTITY_MAX)
        return false;
    sodium_bin2hex(hex, sizeof hex, identity.bytes, identity.size);
    snprintf(ret_viewer, FRONT_VIEWER_MAX + 1, "%s.%s", self->name, hex);
    return true;
}

static void on_request(door_t *self, channel_t channel,
                       const message_t *message)
{
    char viewer[FRONT_VIEWER_MAX + 1];
    fault_t fault;
    int r;

    if (!name_viewer(self, message, viewer)) {
        log_warning("viewer=%s dropped a request: its socket's identity has "
                    "more than %d bytes",
                    self->name, IDENTITY_MAX);
        return;
    }
    if (self->is_observing && !refusal_is_needless(message_type(message))) {
        refuse(self, channel, viewer, message, "PermissionError",
               "this connection file may only observe; executing needs one "
               "that was made without --observe");
        return;
    }
    r = front_request(self->keeper->front, self->aim->id, viewer, channel,
                      message, &fault);
    if (r < 0)
        refuse(self, channel, viewer, message,
               r == -EBADMSG ? "ValueError" : "KernelNotReady", fault.text);
}

static void take(door_t *self, channel_t channel)
{
    for (int i = 0; i < BATCH_MAX; i++) {
        cleanup_message message_t *message = NULL;

        if (ports_replies(self->ports) > DOOR_UNTAKEN_MAX) {
            ports_leave(self->ports, channel);
            return;
        }
        message = ports_receive(self->ports, channel);
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
    door_t *self = arg;

    (void) loop;
    (void) socket;
    ports_take_subscriptions(self->ports);
    return 0;
}

static int on_heartbeat(zloop_t *loop, zsock_t *socket, void *arg)
{
    door_t *self = arg;

    (void) loop;
    (void) socket;
    ports_beat(self->ports);
    return 0;
}

static void welcome(door_t *self, bytes_t topic)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY, header = BUFFER_EMPTY;
    cleanup_free char *name = output_write_welcome(topic, &content);
    wire_parts_t parts = {0};

    if (!name)
        return;
    parts.content = (bytes_t){content.data, content.size};
    parts.header = make_header(self, "iopub_welcome", &header);
    ports_publish(self->ports, name, &parts);
}

static void on_subscription(void *arg, bool is_new, bytes_t topic)
{
    door_t *self = arg;

    if (is_new)
        welcome(self, topic);
    door_note(self);
    if (!self->is_open)
        keeper_look_soon(self->keeper);
}

static void on_bad_message(void *arg, channel_t channel, const char *verdict,
                           uint64_t count)
{
    const door_t *self = arg;

    keeper_note_bad(self->keeper, self, channel, verdict, count);
}

void door_listen(door_t *self)
{
    zloop_t *loop = self->keeper->loop;

    ports_watch(self->ports, on_bad_message, self);
    ports_greet(self->ports, on_subscription, self);
    ports_listen(self->ports, CHANNEL_IOPUB, loop, on_iopub, self);
    ports_listen(self->ports, CHANNEL_HB, loop, on_heartbeat, self);
}

void door_begin(door_t *self)
{
    zloop_t *loop = self->keeper->loop;

    if (!self->is_behind)
        self->cursor = self->aim->seq;
    self->is_open = true;
    door_note(self);
    ports_listen(self->ports, CHANNEL_SHELL, loop, on_shell, self);
    ports_listen(self->ports, CHANNEL_CONTROL, loop, on_control, self);
    if (!self->is_observing)
        ports_listen(self->ports, CHANNEL_STDIN, loop, on_stdin, self);
}

/* --- Time --- */

/* Since when it is so; 0: it is not. */
static void note_since(int64_t *since, bool is_so, int64_t now)
{
    if (!is_so)
        *since = 0;
    else if (!*since)
        *since = now;
}

static void part(door_t *self, channel_t channel)
{
    unsigned count = peers_cut(&self->connection, channel);

    log_warning("viewer=%s session=%s channel=%d took nothing for too long: %u "
                "connections were parted from",
                self->name, self->aim->id, (int) channel, count);
}

void door_on_tick(door_t *self, int64_t now)
{
    int64_t patience = self->keeper->options->subscriber_patience_ms;
    bool has_room = ports_replies(self->ports) <= DOOR_UNTAKEN_MAX;

    (void) ports_retry(self->ports);
    note_since(&self->behind_since, door_is_full(self), now);
    note_since(&self->replies_since, !has_room, now);
    if (self->behind_since && now - self->behind_since > patience) {
        part(self, CHANNEL_IOPUB);
        self->behind_since = 0;
    }
    if (self->replies_since && now - self->replies_since > patience) {
        part(self, CHANNEL_SHELL);
        part(self, CHANNEL_CONTROL);
        part(self, CHANNEL_STDIN);
        self->replies_since = 0;
    }
    if (has_room && self->is_open)
        ports_resume(self->ports);
}
