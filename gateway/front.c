/* See front.h. Two sockets: a client of the management protocol for orders,
 * a ROUTER to which sessions connect. What is attached is a table, so that
 * leaving and attaching anew do not overtake each other. */
#include "gateway/front.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/czmq_owners.h"
#include "gateway/front_link.h"
#include "gateway/gateway.h"
#include "protocol/client.h"
#include "protocol/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <zmq.h>

#define TELL_MIN (1u << 20) /* taken bytes before the session is told */

/* An order whose answer has not come. */
typedef struct {
    uint64_t tag;
    char attach[FRONT_ID_MAX]; /* the session it attaches; "": the caller's */
    bool is_following;         /* it is answered again and again */
} order_t;

/* A session that is looked at, or is being left. */
typedef struct {
    char id[FRONT_ID_MAX];
    bool is_wanted;
    bool is_greeted;      /* HELLO came: it can be spoken to */
    bool is_leaving;      /* LEAVE was said, BYE has not come */
    uint64_t taken, told; /* weight of EVENTs */
} attached_t;

struct front {
    char name[FRONT_NAME_MAX + 1];
    client_t *orders;   /* owned */
    zsock_t *sessions;  /* owned; ROUTER */
    zhashx_t *waiting;  /* owned; msg_id -> order_t */
    zhashx_t *attached; /* owned; id -> attached_t */
    int poll_fd;        /* owned; epoll over the two sockets and wake_fd */
    int wake_fd;        /* owned; eventfd: look, something may have come */
    /* What the last event lends: */
    zmsg_t *frames;    /* owned */
    message_t *answer; /* owned */
    buffer_t farewell; /* owned */
    bytes_t *buffers;  /* owned */
};

static void destroy_any(void **item_p)
{
    free(*item_p);
    *item_p = NULL;
}

static void forget_event(front_t *self)
{
    zmsg_destroy(&self->frames);
    message_destroy(&self->answer);
    buffer_clear(&self->farewell);
    free(take_ptr(self->buffers));
}

/* A send may have taken the sign that something came (ZMQ_FD is told once):
 * the descriptor stays readable until front_next has looked. */
static void wake(front_t *self)
{
    static const uint64_t one = 1;
    ssize_t written = write(self->wake_fd, &one, sizeof one);

    (void) written;
}

static int send_frames(front_t *self, const bytes_t *frames, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const void *bytes = frames[i].size ? frames[i].bytes : "";
        if (zmq_send(zsock_resolve(self->sessions), bytes, frames[i].size,
                     ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0))
            < 0)
            return -zmq_errno();
    }
    wake(self);
    return 0;
}

static bytes_t text(const char *string)
{
    return (bytes_t){string, strlen(string)};
}

static void say_leave(front_t *self, attached_t *attached)
{
    const bytes_t frames[2] = {text(attached->id), text("LEAVE")};

    attached->is_leaving = true;
    (void) send_frames(self, frames, 2);
}

static void leave(front_t *self, attached_t *attached)
{
    attached->is_wanted = false;
    if (attached->is_greeted && !attached->is_leaving)
        say_leave(self, attached);
}

/* Closing alone frees the endpoint's name some time later. */
static void close_sessions(front_t *self)
{
    char endpoint[FRONT_ENDPOINT_SIZE];

    if (self->sessions && front_endpoint(self->name, endpoint))
        (void) zmq_unbind(zsock_resolve(self->sessions), endpoint);
    zsock_destroy(&self->sessions);
}

void front_destroy(front_t **self_p)
{
    front_t *self = *self_p;

    if (!self)
        return;
    for (attached_t *at = self->attached ? zhashx_first(self->attached) : NULL;
         at; at = zhashx_next(self->attached))
        leave(self, at);
    forget_event(self);
    buffer_reset(&self->farewell);
    client_destroy(&self->orders);
    close_sessions(self);
    zhashx_destroy(&self->waiting);
    zhashx_destroy(&self->attached);
    if (self->poll_fd >= 0)
        close(self->poll_fd);
    if (self->wake_fd >= 0)
        close(self->wake_fd);
    free(self);
    *self_p = NULL;
}

static int watch(front_t *self, int fd, fault_t *fault)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (fd < 0 || epoll_ctl(self->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return fault_set(fault, errno, "cannot watch a socket: %s",
                         strerror(errno));
    return 0;
}

static int bind_sessions(front_t *self, fault_t *fault)
{
    char endpoint[FRONT_ENDPOINT_SIZE];

    if (!front_endpoint(self->name, endpoint))
        return fault_set(fault, EINVAL, "\"%s\" is no name for a front",
                         self->name);
    self->sessions = zsock_new(ZMQ_ROUTER);
    if (!self->sessions)
        return fault_set(fault, EMFILE, "no socket: raise RLIMIT_NOFILE");
    zsock_set_sndhwm(self->sessions, 0);
    zsock_set_rcvhwm(self->sessions, 0);
    zsock_set_router_mandatory(self->sessions, 1);
    /* A session that left and comes again may overtake its own going. */
    zsock_set_router_handover(self->sessions, 1);
    if (zmq_bind(zsock_resolve(self->sessions), endpoint) < 0)
        return fault_set(fault, zmq_errno(), "cannot bind %s: %s", endpoint,
                         zmq_strerror(zmq_errno()));
    return 0;
}

static int open_orders(front_t *self, const char *runtime_dir, fault_t *fault)
{
    cleanup_free char *key = mem_format("%s/%s", runtime_dir, GATEWAY_KEY_FILE);

    return client_new_management(GATEWAY_INPROC_ENDPOINT, key, &self->orders,
                                 fault);
}

int front_new(const char *name, const char *runtime_dir, front_t **ret_front,
              fault_t *fault)
{
    cleanup_front front_t *self = mem_new(sizeof *self);
    int r;

    snprintf(self->name, sizeof self->name, "%s", name);
    self->waiting = zhashx_new();
    self->attached = zhashx_new();
    zhashx_set_destructor(self->waiting, destroy_any);
    zhashx_set_destructor(self->attached, destroy_any);
    self->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if ((r = open_orders(self, runtime_dir, fault)) < 0
        || (r = bind_sessions(self, fault)) < 0
        || (r = watch(self, client_fd(self->orders, CHANNEL_CONTROL), fault))
               < 0
        || (r = watch(self, (int) zsock_fd(self->sessions), fault)) < 0
        || (r = watch(self, self->wake_fd, fault)) < 0)
        return r;
    *ret_front = take_ptr(self);
    return 0;
}

int front_fd(const front_t *self)
{
    return self->poll_fd;
}

/* `who` is NULL: the front itself. */
static int send_order(front_t *self, const char *who, const char *type,
                      bytes_t content, bytes_t data, const order_t *order,
                      fault_t *fault)
{
    cleanup_buffer buffer_t metadata = BUFFER_EMPTY;
    const char *id;
    int r;

    if (who) {
        buffer_text(&metadata, "{\"hearth_who\":");
        json_quote_text(&metadata, who);
        buffer_text(&metadata, "}");
    }
    r = client_send_data(self->orders, CHANNEL_CONTROL, type, content,
                         (bytes_t){metadata.data, metadata.size}, data, &id,
                         fault);

    if (r < 0)
        return r;
    zhashx_update(self->waiting, id, mem_copy(order, sizeof *order));
    wake(self);
    return 0;
}

int front_order(front_t *self, const char *who, const char *type,
                bytes_t content, uint64_t tag, fault_t *fault)
{
    return front_order_data(self, who, type, content, (bytes_t){0}, tag, fault);
}

int front_order_data(front_t *self, const char *who, const char *type,
                     bytes_t content, bytes_t data, uint64_t tag,
                     fault_t *fault)
{
    const order_t order = {.tag = tag};

    return send_order(self, who, type, content, data, &order, fault);
}

int front_follow(front_t *self, fault_t *fault)
{
    const order_t order = {.is_following = true};

    return send_order(self, NULL, "session_follow_request", text("{}"),
                      (bytes_t){0}, &order, fault);
}

static int order_attach(front_t *self, const char *session, fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    order_t order = {0};

    snprintf(order.attach, sizeof order.attach, "%s", session);
    buffer_text(&content, "{\"id\":");
    json_quote_text(&content, session);
    buffer_format(&content, ",\"front\":\"%s\"}", self->name);
    return send_order(self, NULL, "session_attach_request",
                      (bytes_t){content.data, content.size}, (bytes_t){0},
                      &order, fault);
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
    r = order_attach(self, session, fault);
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
    frames[size++] = text(session);
    frames[size++] = text("REQUEST");
    frames[size++] = text(viewer);
    frames[size++] = text(front_channel_name(channel));
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
static bool take_attach_answer(front_t *self, const order_t *order,
                               front_event_t *ret_event)
{
    attached_t *attached = zhashx_lookup(self->attached, order->attach);
    json_span_t answer = message_content_json(self->answer);
    json_span_t why = json_member(answer, "evalue");
    bool is_wanted = attached && attached->is_wanted;

    if (json_text_equals(json_member(answer, "status"), "ok"))
        return false;
    zhashx_delete(self->attached, order->attach);
    if (is_wanted)
        tell_absent(self, order->attach, absence(json_member(answer, "ename")),
                    json_is(why, JSON_KIND_STRING)
                        ? (bytes_t){why.text, why.size}
                        : text("\"\""),
                    ret_event);
    return is_wanted;
}

/* Whose request this message answers; copied, since the table lets it go
 * unless more answers follow. */
static bool take_order(front_t *self, const message_t *answer,
                       order_t *ret_order)
{
    bytes_t parent = message_parent(answer);
    json_span_t header;
    cleanup_free char *id = NULL;
    fault_t fault;
    order_t *order;

    if (json_check(parent.bytes, parent.size, &header, &fault) < 0)
        return false;
    id = json_text_new(json_member(header, "msg_id"));
    order = id ? zhashx_lookup(self->waiting, id) : NULL;
    if (!order)
        return false;
    *ret_order = *order;
    if (!order->is_following)
        zhashx_delete(self->waiting, id);
    return true;
}

static void lend_buffers(front_t *self, front_event_t *ret_event)
{
    size_t count = message_buffer_count(self->answer);

    self->buffers = mem_new((count + 1) * sizeof *self->buffers);
    for (size_t i = 0; i < count; i++)
        self->buffers[i] = message_buffer(self->answer, i);
    ret_event->buffers = self->buffers;
    ret_event->buffer_count = count;
}

static bool next_answer(front_t *self, front_event_t *ret_event)
{
    channel_t channel;
    order_t order;
    fault_t fault;

    for (;;) {
        message_destroy(&self->answer);
        if (client_receive(self->orders, 0, &channel, &self->answer, &fault)
            < 0)
            return false;
        if (!take_order(self, self->answer, &order))
            continue;
        if (order.attach[0] && take_attach_answer(self, &order, ret_event))
            return true;
        if (order.attach[0])
            continue;
        ret_event->what = order.is_following ? FRONT_SESSIONS : FRONT_ANSWER;
        ret_event->tag = order.tag;
        ret_event->json = message_content(self->answer);
        lend_buffers(self, ret_event);
        return true;
    }
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
    bytes_t frames[3] = {text(attached->id), text("TAKEN"), {0}};
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
    frames[2] = text(number);
    (void) send_frames(self, frames, 3);
}

/* The cursor stands at the word. */
static void read_event(front_t *self, front_event_t *ret_event)
{
    size_t size = zmsg_size(self->frames), i = 0;

    ret_event->what = FRONT_EVENT;
    ret_event->seq = front_number(pop(self->frames));
    ret_event->channel = front_channel(pop(self->frames));
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

static bool next_word(front_t *self, front_event_t *ret_event)
{
    while (zsock_events(self->sessions) & ZMQ_POLLIN) {
        forget_event(self);
        self->frames = zmsg_recv(self->sessions);
        if (!self->frames)
            return false;
        if (take_word(self, ret_event))
            return true;
    }
    return false;
}

bool front_next(front_t *self, front_event_t *ret_event)
{
    uint64_t count;

    forget_event(self);
    /* First: what comes from here on wakes anew. */
    if (read(self->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
        log_warning("front=%s eventfd: %s", self->name, strerror(errno));
    *ret_event = (front_event_t){0};
    if (next_answer(self, ret_event) || next_word(self, ret_event)) {
        wake(self);
        return true;
    }
    return false;
}
