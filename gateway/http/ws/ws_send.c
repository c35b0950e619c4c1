/* What goes out to a WebSocket: messages become frames, which wait in a queue
 * and are written a fragment at a time. See websocket.h. */
#include "gateway/http/ws/websocket.h"

#include "base/clock.h"
#include "gateway/http/ws/subscription.h"
#include "protocol/json.h"

#include <sodium.h>

#include <string.h>

#define WRITE_MAX    (128u << 10) /* bytes of a fragment */
#define LOOSE_LIMITS 4            /* so many queue_max that no journal has */

struct frame_node {
    frame_node_t *next; /* owned by the queue */
    uint64_t seq;       /* 0: not in the journal */
    bool is_text;
    size_t sent;
    buffer_t bytes; /* LWS_PRE bytes of room, then the frame */
};

static void drop_first(viewer_t *self)
{
    frame_node_t *node = self->first;

    self->first = node->next;
    if (!self->first)
        self->last = NULL;
    self->queued -= node->bytes.size;
    if (!node->seq)
        self->loose -= node->bytes.size;
    buffer_reset(&node->bytes);
    free(node);
}

void viewer_drop_frames(viewer_t *self)
{
    while (self->first)
        drop_first(self);
}

/* --- Queueing --- */

void viewer_wake(viewer_t *self)
{
    if (self->wsi)
        lws_callback_on_writable(self->wsi);
}

bool viewer_is_full(const viewer_t *self)
{
    return self->queued >= self->http->options->http.queue_max;
}

bool viewer_is_flooded(const viewer_t *self)
{
    return self->loose > LOOSE_LIMITS * self->http->options->http.queue_max;
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
    if (!seq)
        self->loose += node->bytes.size;
    if (seq > self->cursor)
        self->cursor = seq;
    viewer_wake(self);
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

/* --- Writing --- */

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

int viewer_write(viewer_t *self)
{
    /* A ping may stand between fragments, but not in one. */
    if (self->wants_ping)
        return write_ping(self) < 0 ? -1 : (viewer_wake(self), 0);
    do {
        if (self->is_behind && !viewer_is_full(self))
            viewer_catch_up(self);
        if (!self->first)
            break;
        if (write_fragment(self) < 0)
            return -1;
    } while (!lws_send_pipe_choked(self->wsi));
    if (self->first || self->is_behind) {
        viewer_wake(self);
        return 0;
    }
    if (!self->close_status)
        return 0;
    lws_close_reason(self->wsi, (enum lws_close_status) self->close_status,
                     (unsigned char *) self->close_text,
                     strlen(self->close_text));
    return -1;
}
