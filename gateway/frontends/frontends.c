/* See frontends.h. A frontend that does not read must neither delay the session
 * nor make the gateway hold the session's output. Bytes in the socket are
 * counted. Beyond the bound, a frontend reads the journal, which has all of it.
 */
#include "gateway/frontends/frontends.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/channels/socket_options.h"
#include "gateway/frontends/attach_wire.h"
#include "gateway/frontends/frontend.h"
#include "protocol/czmq_cleanup.h"
#include "protocol/jspan.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

typedef struct frontend_link {
    struct frontend_link *next; /* owned */
    char frontend[FRONTEND_NAME_MAX + 1];
    zsock_t *socket;      /* owned */
    uint64_t sent, taken; /* weight of EVENTs (attach_wire.h) */
    bool is_behind;       /* events were left out */
} frontend_link_t;

struct frontends {
    char session[FRONTEND_ID_MAX];
    frontend_link_t *links; /* owned */
    size_t count;
};

static void link_destroy(frontend_link_t **link_p)
{
    frontend_link_t *link = *link_p;

    zsock_destroy(&link->socket);
    free(link);
    *link_p = NULL;
}

frontends_t *frontends_new(const char *session_id)
{
    frontends_t *self = mem_new(sizeof *self);

    snprintf(self->session, sizeof self->session, "%s", session_id);
    return self;
}

void frontends_destroy(frontends_t **self_p)
{
    frontends_t *self = *self_p;

    if (!self)
        return;
    while (self->links) {
        frontend_link_t *first = self->links;
        self->links = first->next;
        link_destroy(&first);
    }
    free(self);
    *self_p = NULL;
}

static frontend_link_t *find_frontend(const frontends_t *self,
                                      const char *frontend)
{
    for (frontend_link_t *at = self->links; at; at = at->next)
        if (strcmp(at->frontend, frontend) == 0)
            return at;
    return NULL;
}

static frontend_link_t *find_socket(const frontends_t *self,
                                    const zsock_t *socket)
{
    for (frontend_link_t *at = self->links; at; at = at->next)
        if (at->socket == socket)
            return at;
    return NULL;
}

int frontends_attach(frontends_t *self, const char *frontend,
                     zsock_t **ret_socket, fault_t *fault)
{
    char endpoint[FRONTEND_ENDPOINT_SIZE];
    frontend_link_t *link;

    if (!frontend_endpoint(frontend, endpoint))
        return fault_set(fault, EINVAL,
                         "a frontend's name has 1 to %d letters, digits or -",
                         FRONTEND_NAME_MAX);
    *ret_socket = NULL;
    if (find_frontend(self, frontend))
        return 0;
    if (self->count == FRONTENDS_MAX)
        return fault_set(fault, EUSERS, "%d frontends look at it already",
                         FRONTENDS_MAX);
    link = mem_new(sizeof *link);
    snprintf(link->frontend, sizeof link->frontend, "%s", frontend);
    link->socket = zsock_new(ZMQ_DEALER);
    if (!link->socket) {
        free(link);
        return fault_set(fault, EMFILE, "no socket: raise RLIMIT_NOFILE");
    }
    zsock_set_identity(link->socket, self->session);
    zsock_set_sndhwm(link->socket, 0);
    zsock_set_rcvhwm(link->socket, 0);
    zsock_set_linger(link->socket, SOCKET_LINGER_MS);
    zsock_set_rcvtimeo(link->socket, 0);
    (void) zmq_connect(zsock_resolve(link->socket), endpoint);
    link->next = self->links;
    self->links = link;
    self->count++;
    *ret_socket = link->socket;
    return 0;
}

zsock_t *frontends_socket(const frontends_t *self, size_t index)
{
    frontend_link_t *at = self->links;

    while (at && index--)
        at = at->next;
    return at ? at->socket : NULL;
}

bool frontends_are_there(const frontends_t *self)
{
    return self->links != NULL;
}

/* Returns true if a frame was sent; `error` is libzmq's if not. A frontend that
 * has gone is no error. */
static bool is_sent(const frontend_link_t *link, int error)
{
    if (error)
        log_debug("front=%s not sent: %s", link->frontend, zmq_strerror(error));
    return !error;
}

/* Sends frames. */
static bool send_frames(frontend_link_t *link, const bytes_t *frames,
                        size_t count, bool more)
{
    for (size_t i = 0; i < count; i++) {
        int flags = more || i + 1 < count ? ZMQ_SNDMORE : 0;
        const void *bytes = frames[i].size ? frames[i].bytes : "";

        if (zmq_send(zsock_resolve(link->socket), bytes, frames[i].size,
                     flags | ZMQ_DONTWAIT)
            < 0)
            return is_sent(link, zmq_errno());
    }
    return true;
}

/* Sends a message of one frame besides its head. */
static void send_one(frontend_link_t *link, const attach_head_t *head,
                     bytes_t frame)
{
    const bytes_t frames[2] = {attach_head_bytes(head), frame};

    send_frames(link, frames, 2, false);
}

static void greet(frontend_link_t *link, uint64_t seq, const char *json)
{
    attach_head_t head = {.type = ATTACH_HELLO, .seq = seq};

    link->is_behind = false;
    send_one(link, &head, text_bytes(json));
}

void frontends_greet(frontends_t *self, const char *frontend, uint64_t seq,
                     const char *json)
{
    frontend_link_t *link = find_frontend(self, frontend);

    if (link)
        greet(link, seq, json);
}

/* Sends the content as the parcel of all receivers, if they share one. */
static bool send_content(frontend_link_t *link, const wire_parts_t *parts)
{
    bool has_buffers = parts->buffer_count > 0;
    zmq_parcel_t *parcel;

    if (!parts->shared_p || !parts->content.size)
        return send_frames(link, &parts->content, 1, has_buffers);
    parcel = zmq_parcel_share(parts->shared_p, parts->content);
    return is_sent(
        link, -zmq_parcel_send(parcel, zsock_resolve(link->socket),
                               ZMQ_DONTWAIT | (has_buffers ? ZMQ_SNDMORE : 0)));
}

static void send_event(frontend_link_t *link, uint64_t seq, channel_t channel,
                       bytes_t client, uint64_t request,
                       const wire_parts_t *parts)
{
    attach_head_t head = {.type = ATTACH_EVENT,
                          .channel = channel,
                          .seq = seq,
                          .request = request};
    const bytes_t frames[] = {
        attach_head_bytes(&head), client, parts->header, parts->parent,
        parts->metadata,
    };
    size_t count = sizeof frames / sizeof *frames;

    if (send_frames(link, frames, count, true) && send_content(link, parts))
        send_frames(link, parts->buffers, parts->buffer_count, false);
    link->sent += frontend_weight(frames, count)
                  + frontend_weight(&parts->content, 1)
                  + frontend_weight(parts->buffers, parts->buffer_count);
}

void frontends_publish(frontends_t *self, uint64_t seq, uint64_t request,
                       const wire_parts_t *parts)
{
    for (frontend_link_t *at = self->links; at; at = at->next) {
        if (at->sent - at->taken > FRONTENDS_UNTAKEN_MAX)
            at->is_behind = true;
        if (!at->is_behind)
            send_event(at, seq, CHANNEL_IOPUB, (bytes_t){0}, request, parts);
    }
}

void frontends_answer(frontends_t *self, uint64_t seq, channel_t channel,
                      const frontends_asker_t *asker, const wire_parts_t *parts)
{
    frontend_link_t *link = find_frontend(self, asker->frontend);

    if (link)
        send_event(link, seq, channel, asker->client, asker->request, parts);
}

void frontends_send_state(frontends_t *self, const char *json)
{
    attach_head_t head = {.type = ATTACH_STATE};

    for (frontend_link_t *at = self->links; at; at = at->next)
        send_one(at, &head, text_bytes(json));
}

static void say_bye(frontend_link_t *link, const char *reason,
                    const char *sentence)
{
    cleanup_buffer buffer_t json = BUFFER_EMPTY;
    attach_head_t head = {.type = ATTACH_BYE};

    jspan_write_begin(&json);
    jspan_write_text(&json, "reason", reason);
    jspan_write_text(&json, "sentence", sentence);
    jspan_write_end(&json);
    send_one(link, &head, buffer_bytes(&json));
}

void frontends_say_goodbye(frontends_t *self, const char *reason,
                           const char *sentence)
{
    for (frontend_link_t *at = self->links; at; at = at->next)
        say_bye(at, reason, sentence);
}

void frontends_drop(frontends_t *self, zsock_t *socket)
{
    frontend_link_t *link = find_socket(self, socket);
    frontend_link_t **at = &self->links;

    if (!link)
        return;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    self->count--;
    say_bye(link, "left", "no client looked at it any more");
    link_destroy(&link);
}

/* Reads a request, whose head was read. */
static message_t *read_request(zmsg_t *frames)
{
    bytes_t client = attach_next(frames);
    bytes_t parts[4];
    message_t *message;

    for (size_t i = 0; i < 4; i++)
        parts[i] = attach_next(frames);
    if (!parts[0].size)
        return NULL;
    message = message_new(parts[0], parts[1], parts[2], parts[3]);
    message_add_identity(message, client.bytes, client.size);
    for (zframe_t *at = zmsg_next(frames); at; at = zmsg_next(frames))
        message_add_buffer(message, zframe_data(at), zframe_size(at));
    return message;
}

/* Returns true if the frontend has room for messages again. */
static bool note_taken(frontend_link_t *link, uint64_t taken)
{
    link->taken = taken;
    return link->is_behind
           && link->sent - link->taken < FRONTENDS_UNTAKEN_MAX / 2;
}

frontends_message_t frontends_next(frontends_t *self, zsock_t *socket,
                                   const char **ret_frontend,
                                   channel_t *ret_channel,
                                   message_t **ret_message)
{
    frontend_link_t *link = find_socket(self, socket);

    while (link && zsock_events(socket) & ZMQ_POLLIN) {
        cleanup_zmsg zmsg_t *frames = zmsg_recv(socket);
        attach_head_t head;

        *ret_frontend = link->frontend;
        if (!frames)
            break;
        if (!attach_read_head(zmsg_first(frames), &head))
            continue;
        *ret_channel = head.channel;
        if (head.type == ATTACH_LEAVE)
            return FRONTENDS_LEFT;
        if (head.type == ATTACH_TAKEN && note_taken(link, head.taken))
            return FRONTENDS_CAUGHT_UP;
        if (head.type == ATTACH_REQUEST
            && (*ret_message = read_request(frames)))
            return FRONTENDS_REQUEST;
    }
    return FRONTENDS_NOTHING;
}
