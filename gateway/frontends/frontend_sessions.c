/* What a front and the sessions that it looks at say to each other, over a
 * ROUTER to which they connect. What is attached is a table, so that leaving
 * and attaching anew do not overtake each other. */
#include "gateway/frontends/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <zmq.h>

#define TELL_MIN (1u << 20) /* taken bytes before the session is told */

/* A session that is looked at, or is being left. */
typedef struct {
    char id[FRONT_ID_MAX];
    bool is_wanted;
    bool is_greeted;      /* HELLO came: it can be spoken to */
    bool is_leaving;      /* LEAVE was said, BYE has not come */
    uint64_t taken, told; /* weight of EVENTs */
} attached_t;

static int send_frames(front_t *self, const bytes_t *frames, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const void *bytes = frames[i].size ? frames[i].bytes : "";
        if (zmq_send(zsock_resolve(self->sessions), bytes, frames[i].size,
                     ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0))
            < 0)
            return -zmq_errno();
    }
    front_wake(self);
    return 0;
}

static void say_leave(front_t *self, attached_t *attached)
{
    const bytes_t frames[2] = {front_text(attached->id), front_text("LEAVE")};

    attached->is_leaving = true;
    (void) send_frames(self, frames, 2);
}

static void leave(front_t *self, attached_t *attached)
{
    attached->is_wanted = false;
    if (attached->is_greeted && !attached->is_leaving)
        say_leave(self, attached);
}

void front_leave_all(front_t *self)
{
    for (attached_t *at = self->attached ? zhashx_first(self->attached) : NULL;
         at; at = zhashx_next(self->attached))
        leave(self, at);
}

int front_attach(front_t *self, const char *session, fault_t *fault)
{
    attached_t *attached = zhashx_lookup(self->attached, session);
    int r;

    if (strlen(session) >= FRONT_ID_MAX)
        return fault_set(fault, EINVAL, "a session's id is shorter");
    if (attached) {
        /* Said LEAVE: its BYE makes it come again. */
        attached->is_wanted = true;
        return 0;
    }
    r = front_order_attach(self, session, fault);
    if (r < 0)
        return r;
    attached = mem_new(sizeof *attached);
    snprintf(attached->id, sizeof attached->id, "%s", session);
    attached->is_wanted = true;
    zhashx_update(self->attached, session, attached);
    return 0;
}

bool front_is_attached(const front_t *self, const char *session)
{
    const attached_t *attached = zhashx_lookup(self->attached, session);

    return attached && attached->is_wanted && attached->is_greeted
           && !attached->is_leaving;
}

void front_leave(front_t *self, const char *session)
{
    attached_t *attached = zhashx_lookup(self->attached, session);

    if (attached)
        leave(self, attached);
}

int front_request(front_t *self, const char *session, const char *viewer,
                  channel_t channel, const message_t *message, fault_t *fault)
{
    size_t buffers = message_buffer_count(message);
    cleanup_free bytes_t *frames = NULL;
    size_t size = 0;
    int r = message_check(message, fault);

    if (r < 0)
        return r;
    if (!viewer[0] || strlen(viewer) > FRONT_VIEWER_MAX)
        return fault_set(fault, EINVAL, "a viewer's name has 1 to %d bytes",
                         FRONT_VIEWER_MAX);
    if (!front_is_attached(self, session))
        return fault_set(fault, ENOTCONN, "session %s is not attached",
                         session);
    frames = mem_new((8 + buffers) * sizeof *frames);
    frames[size++] = front_text(session);
    frames[size++] = front_text("REQUEST");
    frames[size++] = front_text(viewer);
    frames[size++] = front_text(channel_name(channel));
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

/* A session that could not be attached: `why` is JSON text of a string. */
static void tell_absent(front_t *self, const char *session, const char *reason,
                        bytes_t why, front_event_t *ret_event)
{
    buffer_format(&self->farewell, "{\"reason\":\"%s\",\"sentence\":", reason);
    buffer_append(&self->farewell, why.bytes, why.size);
    buffer_text(&self->farewell, "}");
    ret_event->what = FRONT_BYE;
    snprintf(ret_event->session, sizeof ret_event->session, "%s", session);
    ret_event->json = (bytes_t){self->farewell.data, self->farewell.size};
}

/* Whether it is there, though it could not be attached. */
static const char *absence(json_span_t ename)
{
    if (json_text_equals(ename, "GatewayStopping"))
        return "drained";
    return json_text_equals(ename, "NotAttached") ? "unattached" : "absent";
}

/* True when the caller has to hear of it. */
bool front_take_attach(front_t *self, const char *session,
                       front_event_t *ret_event)
{
    attached_t *attached = zhashx_lookup(self->attached, session);
    json_span_t answer = message_content_json(self->answer);
    json_span_t why = json_member(answer, "evalue");
    bool is_wanted = attached && attached->is_wanted;

    if (json_text_equals(json_member(answer, "status"), "ok"))
        return false;
    zhashx_delete(self->attached, session);
    if (is_wanted)
        tell_absent(self, session, absence(json_member(answer, "ename")),
                    json_is(why, JSON_KIND_STRING)
                        ? (bytes_t){why.text, why.size}
                        : front_text("\"\""),
                    ret_event);
    return is_wanted;
}

static bytes_t pop(zmsg_t *frames)
{
    zframe_t *frame = zmsg_next(frames);

    return frame ? (bytes_t){zframe_data(frame), zframe_size(frame)}
                 : (bytes_t){0};
}

/* What a session waits for that counts what its front has not taken. */
static void count_taken(front_t *self, attached_t *attached)
{
    char number[24];
    bytes_t frames[3] = {front_text(attached->id), front_text("TAKEN"), {0}};
    bool is_behind_id = false;

    /* The first frame is the ROUTER's own. */
    for (zframe_t *at = zmsg_first(self->frames); at;
         at = zmsg_next(self->frames)) {
        bytes_t frame = {zframe_data(at), zframe_size(at)};
        if (is_behind_id)
            attached->taken += front_weight(&frame, 1);
        is_behind_id = true;
    }
    if (attached->taken - attached->told < TELL_MIN)
        return;
    attached->told = attached->taken;
    snprintf(number, sizeof number, "%" PRIu64, attached->taken);
    frames[2] = front_text(number);
    (void) send_frames(self, frames, 3);
}

/* The cursor stands at the word. */
static void read_event(front_t *self, front_event_t *ret_event)
{
    size_t size = zmsg_size(self->frames), i = 0;
    bytes_t channel;

    ret_event->what = FRONT_EVENT;
    ret_event->seq = front_number(pop(self->frames));
    channel = pop(self->frames);
    ret_event->channel = channel_from_name(channel.bytes, channel.size);
    ret_event->viewer = pop(self->frames);
    ret_event->request = front_number(pop(self->frames));
    ret_event->header = pop(self->frames);
    ret_event->parent = pop(self->frames);
    ret_event->metadata = pop(self->frames);
    ret_event->content = pop(self->frames);
    self->buffers = mem_new(size * sizeof *self->buffers);
    for (zframe_t *at = zmsg_next(self->frames); at;
         at = zmsg_next(self->frames))
        self->buffers[i++] = (bytes_t){zframe_data(at), zframe_size(at)};
    ret_event->buffers = self->buffers;
    ret_event->buffer_count = i;
}

static bool on_hello(front_t *self, attached_t *attached,
                     front_event_t *ret_event)
{
    attached->is_greeted = true;
    if (!attached->is_wanted) {
        if (!attached->is_leaving)
            say_leave(self, attached);
        return false;
    }
    ret_event->what = FRONT_HELLO;
    ret_event->seq = front_number(pop(self->frames));
    ret_event->json = pop(self->frames);
    return !attached->is_leaving;
}

/* The session's socket is gone: who wants it again asks now. */
static bool on_bye(front_t *self, attached_t *attached,
                   front_event_t *ret_event)
{
    bool returns = attached->is_leaving && attached->is_wanted;
    bool is_wanted = attached->is_wanted;
    cleanup_free char *id = mem_text(attached->id);
    cleanup_buffer buffer_t why = BUFFER_EMPTY;
    fault_t fault;

    ret_event->what = FRONT_BYE;
    ret_event->json = pop(self->frames);
    zhashx_delete(self->attached, id);
    if (!returns)
        return is_wanted;
    if (front_attach(self, id, &fault) == 0)
        return false;
    json_quote_text(&why, fault.text);
    tell_absent(self, id, "unattached", (bytes_t){why.data, why.size},
                ret_event);
    return true;
}

/* True when the caller has to hear of it. */
static bool take_word(front_t *self, front_event_t *ret_event)
{
    bytes_t id = {zframe_data(zmsg_first(self->frames)),
                  zframe_size(zmsg_first(self->frames))};
    zframe_t *word = zmsg_next(self->frames);
    attached_t *attached;

    *ret_event = (front_event_t){0};
    snprintf(ret_event->session, sizeof ret_event->session, "%.*s",
             (int) id.size, (const char *) id.bytes);
    attached = zhashx_lookup(self->attached, ret_event->session);
    if (!attached || !word)
        return false;
    if (zframe_streq(word, "HELLO"))
        return on_hello(self, attached, ret_event);
    if (zframe_streq(word, "BYE"))
        return on_bye(self, attached, ret_event);
    if (zframe_streq(word, "EVENT")) {
        count_taken(self, attached);
        zmsg_first(self->frames);
        zmsg_next(self->frames);
        read_event(self, ret_event);
    } else if (zframe_streq(word, "STATE")) {
        ret_event->what = FRONT_STATE;
        ret_event->json = pop(self->frames);
    } else {
        return false;
    }
    return attached->is_wanted && !attached->is_leaving;
}

bool front_next_word(front_t *self, front_event_t *ret_event)
{
    while (zsock_events(self->sessions) & ZMQ_POLLIN) {
        front_forget(self);
        self->frames = zmsg_recv(self->sessions);
        if (!self->frames)
            return false;
        if (take_word(self, ret_event))
            return true;
    }
    return false;
}
