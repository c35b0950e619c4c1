/* See channels.h. */
#include "gateway/http/channels.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/http/metrics.h"
#include "gateway/http/notes.h"
#include "gateway/http/server.h"
#include "gateway/http/watch.h"
#include "protocol/json.h"
#include "protocol/limits.h"

#include <sodium.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#define ATTACH_MS   2000 /* a handshake waits so long for an unknown session */
#define SESSION_MAX 100  /* bytes of a session_id */
/* libwebsockets hangs up on longer lists. */
#define PROTOCOLS_MAX 127
#define WAITING_MAX   64           /* requests before HELLO */
#define WRITE_MAX     (128u << 10) /* bytes of a fragment */
#define QUEUE_LIMITS  4 /* so many queue_max, and it is not read any more */
#define SERVICE_KEEP  (256u << 10) /* bytes of an inbox that are kept */

struct frame_node {
    frame_node_t *next; /* owned by the queue */
    uint64_t seq;       /* 0: not in the journal */
    bool is_text;
    size_t sent;
    buffer_t bytes; /* LWS_PRE bytes of room, then the frame */
};

/* A request that came before HELLO. */
typedef struct {
    channel_t channel;
    message_t *message; /* owned */
} waiting_t;

static void destroy_waiting(void **item_p)
{
    waiting_t *item = *item_p;

    message_destroy(&item->message);
    free(item);
    *item_p = NULL;
}

static void drop_first(viewer_t *self)
{
    frame_node_t *node = self->first;

    self->first = node->next;
    if (!self->first)
        self->last = NULL;
    self->queued -= node->bytes.size;
    buffer_reset(&node->bytes);
    free(node);
}

void viewer_detach(viewer_t *self)
{
    if (!self->watch)
        return;
    if (self->is_returning && self->has_cursor)
        notes_keep_cursor(self->http, self->watch->id, self->name,
                          self->delivered);
    watch_remove(self->watch, self);
    self->watch = NULL;
}

void viewer_destroy(viewer_t **self_p)
{
    viewer_t *self = *self_p;

    if (!self)
        return;
    viewer_detach(self);
    while (self->first)
        drop_first(self);
    journal_reader_destroy(&self->reader);
    zlistx_destroy(&self->waiting);
    buffer_reset(&self->inbox);
    free(self);
    *self_p = NULL;
}

/* --- The handshake --- */

/* What clients are known to bear: above it they close, or worse. */
static size_t known_limit(const char *user_agent)
{
    static const struct {
        const char *part;
        size_t limit;
    } limits[] = {
        {"websockets/", 1u << 20}, /* Python's; its max_size */
        {"Tornado/", 10u << 20},   /* websocket_max_message_size */
    };
    for (size_t i = 0; user_agent && i < sizeof limits / sizeof *limits; i++)
        if (strstr(user_agent, limits[i].part))
            return limits[i].limit;
    return SIZE_MAX;
}

static bool has_word(const char *list, const char *word)
{
    size_t size = strlen(word);

    while (list && *list) {
        list += strspn(list, " ,");
        size_t length = strcspn(list, " ,");
        if (length == size && memcmp(list, word, size) == 0)
            return true;
        list += length;
    }
    return false;
}

static bool choose_form(exchange_t *exchange, websocket_form_t *ret_form)
{
    *ret_form = WEBSOCKET_LEGACY;
    if (!exchange->protocols)
        return true;
    *ret_form = WEBSOCKET_V1;
    if (strlen(exchange->protocols) >= PROTOCOLS_MAX) {
        exchange_fail(exchange, 400, "Fewer than %d bytes of sub-protocols",
                      PROTOCOLS_MAX);
        return false;
    }
    if (has_word(exchange->protocols, WEBSOCKET_V1_NAME))
        return true;
    exchange_fail(exchange, 400,
                  "None of the sub-protocols that were offered is spoken "
                  "here: " WEBSOCKET_V1_NAME ", or none for the older form");
    return false;
}

static void choose_name(viewer_t *self, const exchange_t *exchange)
{
    const char *session = exchange_argument(exchange, "session_id");
    char random[33];
    uint8_t bytes[16];

    if (session && *session && strlen(session) <= SESSION_MAX) {
        snprintf(self->name, sizeof self->name, "%s/%s", exchange->who,
                 session);
        self->is_returning = true;
        return;
    }
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(random, sizeof random, bytes, sizeof bytes);
    snprintf(self->name, sizeof self->name, "%s/%s", exchange->who, random);
}

/* The session must be known before the handshake is completed. What is known
 * already costs nothing; otherwise the registry is waited for, for a moment. */
static watch_t *find_session(exchange_t *exchange, const char *id)
{
    http_t *http = exchange->http;
    int64_t end = clock_monotonic_ms() + ATTACH_MS;
    fault_t fault;
    watch_t *watch =
        strlen(id) < FRONT_ID_MAX ? watch_open(http, id, &fault) : NULL;

    while (watch && !watch->is_greeted && !watch->is_over
           && clock_monotonic_ms() < end) {
        server_drain(http, (int) (end - clock_monotonic_ms()));
        watch = watch_find(http, id);
    }
    if (watch && watch_is_alive(watch))
        return watch;
    if (watch && !watch->is_over && !watch->is_greeted)
        exchange_fail(exchange, 503, "The kernel is not ready yet: %s", id);
    else
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s%s%s", id,
                      watch && watch->farewell ? "; " : "",
                      watch && watch->farewell ? watch->farewell : "");
    return NULL;
}

/* One client that comes back before its old connection was seen to be dead:
 * the new one goes on where the old one stopped. */
static void replace_stale(viewer_t *self, watch_t *watch)
{
    for (viewer_t *at = watch->viewers, *next; at; at = next) {
        next = at->next;
        if (strcmp(at->name, self->name) != 0)
            continue;
        viewer_detach(at);
        viewer_end(at, LWS_CLOSE_STATUS_NORMAL,
                   "another connection took this session_id");
    }
}

static void begin(viewer_t *self, watch_t *watch)
{
    if (self->is_returning)
        replace_stale(self, watch);
    self->watch = watch;
    self->has_cursor = true;
    if (self->is_returning
        && notes_take_cursor(self->http, watch->id, self->name, &self->cursor)
        && self->cursor <= watch->last_seq)
        self->is_behind = true;
    else
        self->cursor = watch->last_seq;
    self->delivered = self->cursor;
    watch_add(watch, self);
}

viewer_t *viewer_new(exchange_t *exchange)
{
    const options_http_t *options = &exchange->http->options->http;
    websocket_form_t form;
    watch_t *watch;

    if (!choose_form(exchange, &form)
        || !(watch = find_session(exchange, exchange->parameters[0])))
        return NULL;
    viewer_t *self = mem_new(sizeof *self);
    self->http = exchange->http;
    self->form = form;
    self->scopes = exchange->scopes;
    self->text_only =
        exchange->user_agent && strstr(exchange->user_agent, "Tornado/");
    self->frame_max = known_limit(exchange->user_agent);
    if (self->frame_max > options->frame_max)
        self->frame_max = (size_t) options->frame_max;
    self->waiting = zlistx_new();
    zlistx_set_destructor(self->waiting, destroy_waiting);
    if (options->ping_interval_ms)
        self->next_ping = clock_monotonic_ms() + options->ping_interval_ms;
    choose_name(self, exchange);
    begin(self, watch);
    return self;
}

/* --- Out --- */

static void wake(viewer_t *self)
{
    if (self->wsi)
        lws_callback_on_writable(self->wsi);
}

bool viewer_is_full(const viewer_t *self)
{
    return self->queued >= self->http->options->http.queue_max;
}

static frame_node_t *make_node(viewer_t *self, channel_t channel,
                               const websocket_parts_t *parts)
{
    frame_node_t *node = mem_new(sizeof *node);

    buffer_reserve(&node->bytes, LWS_PRE);
    node->bytes.size = LWS_PRE;
    node->is_text = websocket_encode(self->form, self->text_only, channel,
                                     parts, &node->bytes);
    return node;
}

static char *type_of(bytes_t header)
{
    json_span_t whole;
    fault_t fault;

    if (json_check(header.bytes, header.size, &whole, &fault) < 0)
        return NULL;
    return json_text_new(json_member(whole, "msg_type"));
}

/* The same message, small. */
static void shrink(viewer_t *self, uint64_t seq, channel_t channel,
                   const websocket_parts_t *parts, frame_node_t **node_p)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    cleanup_free char *type = type_of(parts->header);
    websocket_parts_t small = *parts;

    preview_write(self, seq, type ? type : "", parts->content, &content);
    small.content = (bytes_t){.bytes = content.data, .size = content.size};
    small.buffers = NULL;
    small.buffer_count = 0;
    buffer_reset(&(*node_p)->bytes);
    free(*node_p);
    *node_p = make_node(self, channel, &small);
}

void viewer_queue(viewer_t *self, uint64_t seq, channel_t channel,
                  const websocket_parts_t *parts)
{
    frame_node_t *node = make_node(self, channel, parts);

    if (node->bytes.size - LWS_PRE > self->frame_max)
        shrink(self, seq, channel, parts, &node);
    node->seq = seq;
    node->sent = LWS_PRE;
    if (self->last)
        self->last->next = node;
    else
        self->first = node;
    self->last = node;
    self->queued += node->bytes.size;
    if (seq > self->cursor)
        self->cursor = seq;
    wake(self);
}

void viewer_queue_made(viewer_t *self, uint64_t seq, channel_t channel,
                       const char *type, bytes_t parent, bytes_t content)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY;
    char id[33];
    uint8_t bytes[16];

    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(id, sizeof id, bytes, sizeof bytes);
    message_write_header(&header, id,
                         self->watch && self->watch->kernel_session
                             ? self->watch->kernel_session
                             : "",
                         type, clock_wall_us());
    const websocket_parts_t parts = {
        .header = {.bytes = header.data, .size = header.size},
        .parent = parent,
        .content = content};
    viewer_queue(self, seq, channel, &parts);
}

void viewer_queue_status(viewer_t *self, const char *state, bytes_t parent)
{
    char content[64];

    int size = snprintf(content, sizeof content, "{\"execution_state\":\"%s\"}",
                        state);
    viewer_queue_made(self, 0, CHANNEL_IOPUB, "status", parent,
                      (bytes_t){.bytes = content, .size = (size_t) size});
}

/* --- How long replies take --- */

/* FNV-1a: whoever makes two alike falsifies his own time alone. */
static uint64_t hash_of(bytes_t bytes)
{
    const uint8_t *at = bytes.bytes;
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

static void begin_trip(viewer_t *self, const message_t *message)
{
    size_t at = self->trip_at++ % VIEWER_TRIPS;

    self->trips[at].header = hash_of(message_header(message));
    self->trips[at].begun_us = clock_wall_us();
}

static void end_trip(viewer_t *self, const front_event_t *event)
{
    uint64_t hash = hash_of(event->parent);

    for (size_t i = 0; i < VIEWER_TRIPS; i++) {
        if (self->trips[i].header != hash || !self->trips[i].begun_us)
            continue;
        metrics_count_trip(self->http->metrics,
                           clock_wall_us() - self->trips[i].begun_us);
        self->trips[i].begun_us = 0;
    }
}

/* What is in the journal can wait there; the rest is small, and due. */
void viewer_on_event(viewer_t *self, const front_event_t *event)
{
    const websocket_parts_t parts = {.header = event->header,
                                     .parent = event->parent,
                                     .metadata = event->metadata,
                                     .content = event->content,
                                     .buffers = event->buffers,
                                     .buffer_count = event->buffer_count};
    bool is_status = event->seq == 0 && event->channel == CHANNEL_IOPUB;

    if (event->viewer.size && event->channel != CHANNEL_STDIN)
        end_trip(self, event);
    if (event->seq && event->seq <= self->cursor)
        return;
    if (!self->is_behind && viewer_is_full(self))
        self->is_behind = true;
    if (self->is_behind && (event->seq || (is_status && event->request)))
        return;
    if (is_status && event->request && viewer_has_idled(self, event->request))
        return;
    if (self->queued > QUEUE_LIMITS * self->http->options->http.queue_max) {
        viewer_end(self, LWS_CLOSE_STATUS_POLICY_VIOLATION,
                   "this client reads too slowly");
        return;
    }
    viewer_queue(self, event->seq, event->channel, &parts);
}

static void send_waiting(viewer_t *self);

void viewer_on_hello(viewer_t *self, bool is_first)
{
    if (!is_first)
        self->is_behind = true;
    send_waiting(self);
    wake(self);
}

void viewer_end(viewer_t *self, int status, const char *text)
{
    if (self->close_status)
        return;
    self->close_status = status;
    snprintf(self->close_text, sizeof self->close_text, "%.99s", text);
    wake(self);
}

void viewer_on_tick(viewer_t *self, int64_t now)
{
    if (!self->next_ping || now < self->next_ping || !self->wsi)
        return;
    self->next_ping = now + self->http->options->http.ping_interval_ms;
    self->wants_ping = true;
    wake(self);
}

/* One fragment of the first frame. */
static int write_fragment(viewer_t *self)
{
    frame_node_t *node = self->first;
    size_t left = node->bytes.size - node->sent;
    size_t size = left < WRITE_MAX ? left : WRITE_MAX;
    int how = node->sent > LWS_PRE ? LWS_WRITE_CONTINUATION
              : node->is_text      ? LWS_WRITE_TEXT
                                   : LWS_WRITE_BINARY;

    if (size < left)
        how |= LWS_WRITE_NO_FIN;
    if (lws_write(self->wsi, node->bytes.data + node->sent, size,
                  (enum lws_write_protocol) how)
        < 0)
        return -1;
    node->sent += size;
    if (size < left)
        return 0;
    if (node->seq > self->delivered)
        self->delivered = node->seq;
    drop_first(self);
    return 0;
}

static int write_ping(viewer_t *self)
{
    uint8_t room[LWS_PRE + 1];

    self->wants_ping = false;
    return lws_write(self->wsi, room + LWS_PRE, 0, LWS_WRITE_PING) < 0 ? -1 : 0;
}

static int on_writable(viewer_t *self)
{
    /* A ping may stand between fragments, but not in one. */
    if (self->wants_ping)
        return write_ping(self) < 0 ? -1 : (wake(self), 0);
    do {
        if (self->is_behind && !viewer_is_full(self))
            viewer_catch_up(self);
        if (!self->first)
            break;
        if (write_fragment(self) < 0)
            return -1;
    } while (!lws_send_pipe_choked(self->wsi));
    if (self->first || self->is_behind) {
        wake(self);
        return 0;
    }
    if (!self->close_status)
        return 0;
    lws_close_reason(self->wsi, (enum lws_close_status) self->close_status,
                     (unsigned char *) self->close_text,
                     strlen(self->close_text));
    return -1;
}

/* --- In --- */

/* What somebody may send who only looks: it runs no code. */
static bool is_harmless(const char *type)
{
    static const char *const types[] = {"kernel_info_request",
                                        "comm_info_request", "history_request",
                                        "is_complete_request"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

/* The reply that a refused request gets, with all that clients wait for. */
static void refuse_request(viewer_t *self, channel_t channel,
                           const message_t *message, const char *ename,
                           const char *sentence)
{
    const char *type = message_type(message);
    size_t size = strlen(type);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    char reply[80];

    if (size < 9 || size > 60 || strcmp(type + size - 8, "_request") != 0)
        return; /* comm_msg and the like have no reply */
    snprintf(reply, sizeof reply, "%.*s_reply", (int) size - 8, type);
    buffer_format(&content,
                  "{\"status\":\"error\",\"execution_count\":0,"
                  "\"ename\":\"%s\",\"evalue\":",
                  ename);
    json_quote_text(&content, sentence);
    buffer_text(&content, ",\"traceback\":[]}");
    bytes_t text = {.bytes = content.data, .size = content.size};
    viewer_queue_status(self, "busy", message_header(message));
    viewer_queue_made(self, 0, channel, reply, message_header(message), text);
    if (strcmp(type, "execute_request") == 0)
        viewer_queue_made(self, 0, CHANNEL_IOPUB, "error",
                          message_header(message), text);
    viewer_queue_status(self, "idle", message_header(message));
}

static void request(viewer_t *self, channel_t channel, const message_t *message)
{
    fault_t fault;
    int r = -ENOTCONN;

    if (!(self->scopes & AUTH_EXECUTE) && !is_harmless(message_type(message))) {
        refuse_request(self, channel, message, "PermissionError",
                       "this connection may only observe; executing needs a "
                       "token with the scope execute");
        return;
    }
    fault_set(&fault, ENOTCONN, "the session is gone");
    if (channel != CHANNEL_STDIN)
        begin_trip(self, message);
    if (self->watch && !self->watch->is_over)
        r = front_request(self->http->front, self->watch->id, self->name,
                          channel, message, &fault);
    if (r < 0)
        refuse_request(self, channel, message,
                       r == -EBADMSG ? "ValueError" : "KernelDied", fault.text);
}

static void send_waiting(viewer_t *self)
{
    waiting_t *item;

    while ((item = zlistx_first(self->waiting))) {
        request(self, item->channel, item->message);
        zlistx_delete(self->waiting, NULL);
    }
}

static void on_frame(viewer_t *self)
{
    cleanup_message message_t *message = NULL;
    channel_t channel;
    fault_t fault;
    int r = websocket_decode(self->form, self->inbox.data, self->inbox.size,
                             &channel, &message, &fault);

    if (r == -EPROTONOSUPPORT) {
        log_warning("http: a message was dropped: %s", fault.text);
        return;
    }
    if (r < 0) {
        viewer_end(self, LWS_CLOSE_STATUS_INVALID_PAYLOAD, fault.text);
        return;
    }
    if (self->watch && !self->watch->is_greeted && !self->watch->is_over
        && zlistx_size(self->waiting) < WAITING_MAX) {
        waiting_t *item = mem_new(sizeof *item);
        item->channel = channel;
        item->message = take_ptr(message);
        zlistx_add_end(self->waiting, item);
        return;
    }
    request(self, channel, message);
}

static int on_receive(viewer_t *self, struct lws *wsi, const void *bytes,
                      size_t size)
{
    static const char text[] = "the frame is bigger than http/frame_max";
    size_t left = lws_remaining_packet_payload(wsi);

    if (self->close_status)
        return 0;
    if (self->inbox.size + size + left > self->http->options->http.frame_max
        || self->inbox.size + size + left > WIRE_MESSAGE_MAX) {
        cleanup_free char *reason = mem_text(text);
        lws_close_reason(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
                         (unsigned char *) reason, sizeof text - 1);
        return -1;
    }
    buffer_append(&self->inbox, bytes, size);
    if (left || !lws_is_final_fragment(wsi))
        return 0;
    on_frame(self);
    if (self->inbox.capacity > SERVICE_KEEP)
        buffer_reset(&self->inbox);
    else
        buffer_clear(&self->inbox);
    return 0;
}

bool viewer_is_named(const viewer_t *self, bytes_t name)
{
    return strlen(self->name) == name.size
           && memcmp(self->name, name.bytes, name.size) == 0;
}

int viewer_callback(viewer_t *self, struct lws *wsi,
                    enum lws_callback_reasons reason, void *in, size_t size)
{
    if (!self)
        return 0;
    switch ((int) reason) {
    case LWS_CALLBACK_ESTABLISHED:
        self->wsi = wsi;
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
        wake(self);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return on_receive(self, wsi, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_writable(self);
    case LWS_CALLBACK_CLOSED:
        self->wsi = NULL;
        viewer_detach(self);
        return 0;
    default:
        return 0;
    }
}
