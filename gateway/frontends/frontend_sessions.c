/* See frontend_sessions.h. They talk over a ROUTER to which the sessions
 * connect. What is attached is a table, so that leaving and attaching again do
 * not overtake each other. */
#include "gateway/frontends/frontend_sessions.h"

#include "gateway/frontends/attach_wire.h"
#include "gateway/frontends/frontend_rpc.h"
#include "protocol/czmq_cleanup.h"
#include "protocol/jspan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#define REPORT_MIN                                                             \
    (1u << 20) /* taken bytes before they are reported to the session */

/* A session that is looked at, or is being left. */
typedef struct {
    char id[FRONTEND_ID_MAX];
    bool is_wanted;
    bool is_greeted;          /* HELLO came: it can be spoken to */
    bool is_leaving;          /* LEAVE was said, BYE has not come */
    uint64_t taken, reported; /* weight of EVENTs */
} attached_t;

static int send_frames(frontend_t *self, const bytes_t *frames, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const void *bytes = frames[i].size ? frames[i].bytes : "";
        if (zmq_send(zsock_resolve(self->sessions), bytes, frames[i].size,
                     ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0))
            < 0)
            return -zmq_errno();
    }
    frontend_wake(self);
    return 0;
}

static void say_leave(frontend_t *self, attached_t *attached)
{
    const attach_head_t head = {.type = ATTACH_LEAVE};
    const bytes_t frames[2] = {text_bytes(attached->id),
                               attach_head_bytes(&head)};

    attached->is_leaving = true;
    (void) send_frames(self, frames, 2);
}

static void leave(frontend_t *self, attached_t *attached)
{
    attached->is_wanted = false;
    if (attached->is_greeted && !attached->is_leaving)
        say_leave(self, attached);
}

void frontend_sessions_leave_all(frontend_t *self)
{
    for (attached_t *at = self->attached ? zhashx_first(self->attached) : NULL;
         at; at = zhashx_next(self->attached))
        leave(self, at);
}

int frontend_attach(frontend_t *self, const char *session, fault_t *fault)
{
    attached_t *attached = zhashx_lookup(self->attached, session);
    int r;

    if (strlen(session) >= FRONTEND_ID_MAX)
        return fault_set(fault, EINVAL, "a session's id is shorter");
    if (attached) {
        /* Said LEAVE: its BYE makes it come again. */
        attached->is_wanted = true;
        return 0;
    }
    r = frontend_rpc_attach(self, session, fault);
    if (r < 0)
        return r;
    attached = mem_new(sizeof *attached);
    snprintf(attached->id, sizeof attached->id, "%s", session);
    attached->is_wanted = true;
    zhashx_update(self->attached, session, attached);
    return 0;
}

bool frontend_is_attached(const frontend_t *self, const char *session)
{
    const attached_t *attached = zhashx_lookup(self->attached, session);

    return attached && attached->is_wanted && attached->is_greeted
           && !attached->is_leaving;
}

void frontend_leave(frontend_t *self, const char *session)
{
    attached_t *attached = zhashx_lookup(self->attached, session);

    if (attached)
        leave(self, attached);
}

int frontend_request(frontend_t *self, const char *session, const char *client,
                     channel_t channel, const message_t *message,
                     fault_t *fault)
{
    attach_head_t head = {.type = ATTACH_REQUEST, .channel = channel};
    size_t buffers = message_buffer_count(message);
    cleanup_free bytes_t *frames = NULL;
    size_t size = 0;
    int r = message_check(message, fault);

    if (r < 0)
        return r;
    if (!client[0] || strlen(client) > FRONTEND_CLIENT_MAX)
        return fault_set(fault, EINVAL, "a viewer's name has 1 to %d bytes",
                         FRONTEND_CLIENT_MAX);
    if (!frontend_is_attached(self, session))
        return fault_set(fault, ENOTCONN, "session %s is not attached",
                         session);
    frames = mem_new((7 + buffers) * sizeof *frames);
    frames[size++] = text_bytes(session);
    frames[size++] = attach_head_bytes(&head);
    frames[size++] = text_bytes(client);
    frames[size++] = message_header(message);
    frames[size++] = message_parent(message);
    frames[size++] = message_metadata(message);
    frames[size++] = message_content(message);
    for (size_t i = 0; i < buffers; i++)
        frames[size++] = message_buffer(message, i);
    r = send_frames(self, frames, size);
    return r < 0 ? fault_set(fault, -r, "session %s: %s", session,
                             zmq_strerror(-r))
                 : 0;
}

/* Reports that a session could not be attached: `why` is JSON text of a string.
 */
static void report_absent(frontend_t *self, const char *session,
                          const char *reason, bytes_t why,
                          frontend_event_t *ret_event)
{
    jspan_write_begin(&self->farewell);
    jspan_write_text(&self->farewell, "reason", reason);
    jspan_write_raw(&self->farewell, "sentence", why);
    jspan_write_end(&self->farewell);
    ret_event->what = FRONTEND_BYE;
    snprintf(ret_event->session, sizeof ret_event->session, "%s", session);
    ret_event->json = buffer_bytes(&self->farewell);
}

/* Whether it is there, though it could not be attached. */
static const char *absence(jspan_t ename)
{
    if (jspan_text_equals(ename, "GatewayStopping"))
        return "drained";
    return jspan_text_equals(ename, "NotAttached") ? "unattached" : "absent";
}

/* Returns true if the caller has to hear of the answer. */
bool frontend_sessions_on_attach(frontend_t *self, const char *session,
                                 frontend_event_t *ret_event)
{
    attached_t *attached = zhashx_lookup(self->attached, session);
    jspan_t answer = message_content_json(self->answer);
    jspan_t why = jspan_member(answer, "evalue");
    bool is_wanted = attached && attached->is_wanted;

    if (jspan_text_equals(jspan_member(answer, "status"), "ok"))
        return false;
    zhashx_delete(self->attached, session);
    if (is_wanted)
        report_absent(self, session, absence(jspan_member(answer, "ename")),
                      jspan_is(why, JSPAN_STRING)
                          ? (bytes_t){why.text, why.size}
                          : text_bytes("\"\""),
                      ret_event);
    return is_wanted;
}

/* Counts bytes that were taken: a session may wait for them. */
static void count_taken(frontend_t *self, attached_t *attached)
{
    attach_head_t head = {.type = ATTACH_TAKEN};
    const bytes_t frames[2] = {text_bytes(attached->id),
                               attach_head_bytes(&head)};
    bool is_behind_id = false;

    /* The first frame is the ROUTER's own. */
    for (zframe_t *at = zmsg_first(self->frames); at;
         at = zmsg_next(self->frames)) {
        bytes_t frame = {zframe_data(at), zframe_size(at)};
        if (is_behind_id)
            attached->taken += frontend_weight(&frame, 1);
        is_behind_id = true;
    }
    if (attached->taken - attached->reported < REPORT_MIN)
        return;
    head.taken = attached->reported = attached->taken;
    (void) send_frames(self, frames, 2);
}

/* Reads an event, whose head was read. */
static void read_event(frontend_t *self, const attach_head_t *head,
                       frontend_event_t *ret_event)
{
    size_t size = zmsg_size(self->frames), i = 0;

    ret_event->what = FRONTEND_EVENT;
    ret_event->seq = head->seq;
    ret_event->channel = head->channel;
    ret_event->client = attach_next(self->frames);
    ret_event->request = head->request;
    ret_event->header = attach_next(self->frames);
    ret_event->parent = attach_next(self->frames);
    ret_event->metadata = attach_next(self->frames);
    ret_event->content = attach_next(self->frames);
    self->buffers = mem_new(size * sizeof *self->buffers);
    for (zframe_t *at = zmsg_next(self->frames); at;
         at = zmsg_next(self->frames))
        self->buffers[i++] = (bytes_t){zframe_data(at), zframe_size(at)};
    ret_event->buffers = self->buffers;
    ret_event->buffer_count = i;
}

static bool on_hello(frontend_t *self, attached_t *attached, uint64_t seq,
                     frontend_event_t *ret_event)
{
    attached->is_greeted = true;
    if (!attached->is_wanted) {
        if (!attached->is_leaving)
            say_leave(self, attached);
        return false;
    }
    ret_event->what = FRONTEND_HELLO;
    ret_event->seq = seq;
    ret_event->json = attach_next(self->frames);
    return !attached->is_leaving;
}

/* Handles that the session's socket is gone: a viewer that wants the session
 * again attaches again now. */
static bool on_bye(frontend_t *self, attached_t *attached,
                   frontend_event_t *ret_event)
{
    bool returns = attached->is_leaving && attached->is_wanted;
    bool is_wanted = attached->is_wanted;
    cleanup_free char *id = mem_text(attached->id);
    cleanup_buffer buffer_t why = BUFFER_EMPTY;
    fault_t fault;

    ret_event->what = FRONTEND_BYE;
    ret_event->json = attach_next(self->frames);
    zhashx_delete(self->attached, id);
    if (!returns)
        return is_wanted;
    if (frontend_attach(self, id, &fault) == 0)
        return false;
    jspan_quote_text(&why, fault.text);
    report_absent(self, id, "unattached", buffer_bytes(&why), ret_event);
    return true;
}

/* Returns true if the caller has to hear of it. */
static bool take(frontend_t *self, frontend_event_t *ret_event)
{
    bytes_t id = {zframe_data(zmsg_first(self->frames)),
                  zframe_size(zmsg_first(self->frames))};
    attached_t *attached;
    attach_head_t head;

    *ret_event = (frontend_event_t){0};
    snprintf(ret_event->session, sizeof ret_event->session, "%.*s",
             (int) id.size, (const char *) id.bytes);
    attached = zhashx_lookup(self->attached, ret_event->session);
    if (!attached || !attach_read_head(zmsg_next(self->frames), &head))
        return false;
    if (head.type == ATTACH_HELLO)
        return on_hello(self, attached, head.seq, ret_event);
    if (head.type == ATTACH_BYE)
        return on_bye(self, attached, ret_event);
    if (head.type == ATTACH_EVENT) {
        read_event(self, &head, ret_event);
        count_taken(self, attached);
    } else {
        ret_event->what = FRONTEND_STATE;
        ret_event->json = attach_next(self->frames);
    }
    return attached->is_wanted && !attached->is_leaving;
}

bool frontend_sessions_next(frontend_t *self, frontend_event_t *ret_event)
{
    while (zsock_events(self->sessions) & ZMQ_POLLIN) {
        frontend_forget(self);
        self->frames = zmsg_recv(self->sessions);
        if (!self->frames)
            return false;
        if (take(self, ret_event))
            return true;
    }
    return false;
}
