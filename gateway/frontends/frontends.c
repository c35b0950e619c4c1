/* See frontends.h. A front that does not read must not make the session wait,
 * nor the gateway hold what it prints: what lies in the socket is counted,
 * and beyond the bound a front reads the journal, where all of it stands. */
#include "gateway/frontends/frontends.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/frontends/attach_wire.h"
#include "gateway/frontends/frontend.h"
#include "protocol/czmq_cleanup.h"
#include "protocol/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zmq.h>

#define LINGER_MS 2000

typedef struct link {
    struct link *next; /* owned */
    char front[FRONT_NAME_MAX + 1];
    zsock_t *socket;      /* owned */
    uint64_t sent, taken; /* weight of EVENTs (attach_wire.h) */
    bool is_behind;       /* events were left out */
} link_t;

struct viewers {
    char session[FRONT_ID_MAX];
    link_t *links; /* owned */
    size_t count;
};

static void link_destroy(link_t **link_p)
{
    link_t *link = *link_p;

    zsock_destroy(&link->socket);
    free(link);
    *link_p = NULL;
}

viewers_t *viewers_new(const char *session_id)
{
    viewers_t *self = mem_new(sizeof *self);

    snprintf(self->session, sizeof self->session, "%s", session_id);
    return self;
}

void viewers_destroy(viewers_t **self_p)
{
    viewers_t *self = *self_p;

    if (!self)
        return;
    while (self->links) {
        link_t *first = self->links;
        self->links = first->next;
        link_destroy(&first);
    }
    free(self);
    *self_p = NULL;
}

static link_t *find_front(const viewers_t *self, const char *front)
{
    for (link_t *at = self->links; at; at = at->next)
        if (strcmp(at->front, front) == 0)
            return at;
    return NULL;
}

static link_t *find_socket(const viewers_t *self, const zsock_t *socket)
{
    for (link_t *at = self->links; at; at = at->next)
        if (at->socket == socket)
            return at;
    return NULL;
}

int viewers_attach(viewers_t *self, const char *front, zsock_t **ret_socket,
                   fault_t *fault)
{
    char endpoint[FRONT_ENDPOINT_SIZE];
    link_t *link;

    if (!front_endpoint(front, endpoint))
        return fault_set(fault, EINVAL,
                         "a front's name has 1 to %d letters, digits or -",
                         FRONT_NAME_MAX);
    *ret_socket = NULL;
    if (find_front(self, front))
        return 0;
    if (self->count == VIEWERS_FRONTS_MAX)
        return fault_set(fault, EUSERS, "%d fronts look at it already",
                         VIEWERS_FRONTS_MAX);
    link = mem_new(sizeof *link);
    snprintf(link->front, sizeof link->front, "%s", front);
    link->socket = zsock_new(ZMQ_DEALER);
    if (!link->socket) {
        free(link);
        return fault_set(fault, EMFILE, "no socket: raise RLIMIT_NOFILE");
    }
    zsock_set_identity(link->socket, self->session);
    zsock_set_sndhwm(link->socket, 0);
    zsock_set_rcvhwm(link->socket, 0);
    zsock_set_linger(link->socket, LINGER_MS);
    zsock_set_rcvtimeo(link->socket, 0);
    (void) zmq_connect(zsock_resolve(link->socket), endpoint);
    link->next = self->links;
    self->links = link;
    self->count++;
    *ret_socket = link->socket;
    return 0;
}

zsock_t *viewers_socket(const viewers_t *self, size_t index)
{
    link_t *at = self->links;

    while (at && index--)
        at = at->next;
    return at ? at->socket : NULL;
}

bool viewers_are_there(const viewers_t *self)
{
    return self->links != NULL;
}

static bytes_t text(const char *string)
{
    return (bytes_t){string, strlen(string)};
}

/* A front that has gone takes nothing more, and nobody misses it. */
static bool send_frames(link_t *link, const bytes_t *frames, size_t count,
                        bool more)
{
    for (size_t i = 0; i < count; i++) {
        int flags = more || i + 1 < count ? ZMQ_SNDMORE : 0;
        const void *bytes = frames[i].size ? frames[i].bytes : "";

        if (zmq_send(zsock_resolve(link->socket), bytes, frames[i].size,
                     flags | ZMQ_DONTWAIT)
            < 0) {
            log_debug("front=%s not sent: %s", link->front,
                      zmq_strerror(zmq_errno()));
            return false;
        }
    }
    return true;
}

static void greet(link_t *link, uint64_t seq, const char *json)
{
    char number[24];
    bytes_t frames[3] = {text("HELLO"), {0}, text(json)};

    snprintf(number, sizeof number, "%" PRIu64, seq);
    frames[1] = text(number);
    link->is_behind = false;
    send_frames(link, frames, 3, false);
}

void viewers_greet(viewers_t *self, const char *front, uint64_t seq,
                   const char *json)
{
    link_t *link = find_front(self, front);

    if (link)
        greet(link, seq, json);
}

static void send_event(link_t *link, uint64_t seq, channel_t channel,
                       bytes_t viewer, uint64_t request,
                       const wire_parts_t *parts)
{
    char numbers[2][24];
    bytes_t frames[FRONT_EVENT_FRAMES] = {
        text("EVENT"),
        {0},
        text(channel_name(channel)),
        viewer,
        {0},
        parts->header,
        parts->parent,
        parts->metadata,
        parts->content,
    };

    snprintf(numbers[0], sizeof numbers[0], "%" PRIu64, seq);
    snprintf(numbers[1], sizeof numbers[1], "%" PRIu64, request);
    frames[1] = text(numbers[0]);
    frames[4] = text(numbers[1]);
    if (send_frames(link, frames, FRONT_EVENT_FRAMES, parts->buffer_count > 0))
        send_frames(link, parts->buffers, parts->buffer_count, false);
    link->sent += front_weight(frames, FRONT_EVENT_FRAMES)
                  + front_weight(parts->buffers, parts->buffer_count);
}

void viewers_publish(viewers_t *self, uint64_t seq, uint64_t request,
                     const wire_parts_t *parts)
{
    for (link_t *at = self->links; at; at = at->next) {
        if (at->sent - at->taken > VIEWERS_UNTAKEN_MAX)
            at->is_behind = true;
        if (!at->is_behind)
            send_event(at, seq, CHANNEL_IOPUB, (bytes_t){0}, request, parts);
    }
}

void viewers_answer(viewers_t *self, uint64_t seq, channel_t channel,
                    const viewers_asker_t *asker, const wire_parts_t *parts)
{
    link_t *link = find_front(self, asker->front);

    if (link)
        send_event(link, seq, channel, asker->viewer, asker->request, parts);
}

void viewers_tell_state(viewers_t *self, const char *json)
{
    const bytes_t frames[2] = {text("STATE"), text(json)};

    for (link_t *at = self->links; at; at = at->next)
        send_frames(at, frames, 2, false);
}

static void say_bye(link_t *link, const char *reason, const char *sentence)
{
    cleanup_buffer buffer_t json = BUFFER_EMPTY;
    bytes_t frames[2] = {text("BYE"), {0}};

    buffer_text(&json, "{\"reason\":");
    json_quote_text(&json, reason);
    buffer_text(&json, ",\"sentence\":");
    json_quote_text(&json, sentence);
    buffer_text(&json, "}");
    frames[1] = (bytes_t){json.data, json.size};
    send_frames(link, frames, 2, false);
}

void viewers_bid_farewell(viewers_t *self, const char *reason,
                          const char *sentence)
{
    for (link_t *at = self->links; at; at = at->next)
        say_bye(at, reason, sentence);
}

void viewers_drop(viewers_t *self, zsock_t *socket)
{
    link_t *link = find_socket(self, socket);
    link_t **at = &self->links;

    if (!link)
        return;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    self->count--;
    say_bye(link, "left", "nobody looked any more");
    link_destroy(&link);
}

static bytes_t pop(zmsg_t *frames)
{
    zframe_t *frame = zmsg_next(frames);

    return frame ? (bytes_t){zframe_data(frame), zframe_size(frame)}
                 : (bytes_t){0};
}

/* The cursor of `frames` stands at the word. */
static message_t *read_request(zmsg_t *frames, channel_t *ret_channel)
{
    bytes_t viewer = pop(frames);
    bytes_t name = pop(frames);
    channel_t channel = channel_from_name(name.bytes, name.size);
    bytes_t parts[4];
    message_t *message;

    for (size_t i = 0; i < 4; i++)
        parts[i] = pop(frames);
    if (channel == CHANNEL_COUNT || !parts[0].size)
        return NULL;
    message = message_new(parts[0], parts[1], parts[2], parts[3]);
    message_add_identity(message, viewer.bytes, viewer.size);
    for (zframe_t *at = zmsg_next(frames); at; at = zmsg_next(frames))
        message_add_buffer(message, zframe_data(at), zframe_size(at));
    *ret_channel = channel;
    return message;
}

/* True when the front can be told everything again. */
static bool read_taken(link_t *link, bytes_t number)
{
    link->taken = front_number(number);
    return link->is_behind
           && link->sent - link->taken < VIEWERS_UNTAKEN_MAX / 2;
}

viewers_word_t viewers_next(viewers_t *self, zsock_t *socket,
                            const char **ret_front, channel_t *ret_channel,
                            message_t **ret_message)
{
    link_t *link = find_socket(self, socket);

    while (link && zsock_events(socket) & ZMQ_POLLIN) {
        cleanup_zmsg zmsg_t *frames = zmsg_recv(socket);
        zframe_t *word = frames ? zmsg_first(frames) : NULL;

        *ret_front = link->front;
        if (!word)
            break;
        if (zframe_streq(word, "LEAVE"))
            return VIEWERS_LEFT;
        if (zframe_streq(word, "TAKEN") && read_taken(link, pop(frames)))
            return VIEWERS_CAUGHT_UP;
        if (zframe_streq(word, "REQUEST")
            && (*ret_message = read_request(frames, ret_channel)))
            return VIEWERS_REQUEST;
    }
    return VIEWERS_NOTHING;
}
