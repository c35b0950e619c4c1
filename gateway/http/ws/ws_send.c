/* Outgoing messages of a WebSocket become frames, which wait in a queue and are
 * written fragment by fragment. See ws_send.h. */
#include "gateway/http/ws/ws_send.h"

#include "base/clock.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/ws/stream_pieces.h"
#include "gateway/http/ws/ws_preview.h"
#include "protocol/jspan.h"

#include <sodium.h>

#include <string.h>

#define WRITE_MAX (128u << 10) /* bytes of a fragment */
#define LOOSE_LIMITS                                                           \
    4 /* for messages that are not journaled, in units of queue_max */
#define ID_ROOM 64 /* by which the ids of a piece are longer */

struct frame_node {
    frame_node_t *next; /* owned by the queue */
    uint64_t seq;       /* 0: not in the journal */
    uint64_t end;       /* not 0: a piece, and where the next one begins */
    bool is_text;
    size_t sent;
    buffer_t bytes; /* LWS_PRE bytes of room, then the frame */
};

static void drop_first(ws_client_t *self)
{
    frame_node_t *node = self->first;

    self->first = node->next;
    if (!self->first)
        self->last = NULL;
    self->queued -= node->bytes.size;
    memory_quota_wait(&self->http->memory, -(int64_t) node->bytes.size);
    if (!node->seq)
        self->loose -= node->bytes.size;
    buffer_reset(&node->bytes);
    free(node);
}

void ws_client_drop_frames(ws_client_t *self)
{
    while (self->first)
        drop_first(self);
}

/* --- Queueing --- */

void ws_client_wake(ws_client_t *self)
{
    if (self->wsi)
        lws_callback_on_writable(self->wsi);
}

/* Returns true beyond the client's own bound, or beyond a small bound if the
 * quota is used up. */
static bool is_over(const ws_client_t *self, size_t bytes, uint64_t max)
{
    return bytes >= max
           || (bytes > MEMORY_QUOTA_FREE
               && !memory_quota_has_room(&self->http->memory));
}

bool ws_client_is_full(const ws_client_t *self)
{
    return is_over(self, self->queued, self->http->options->http.queue_max);
}

bool ws_client_is_flooded(const ws_client_t *self)
{
    return is_over(self, self->loose,
                   LOOSE_LIMITS * self->http->options->http.queue_max);
}

bool ws_client_end_flooded(ws_client_t *self)
{
    if (self->close.status || !ws_client_is_flooded(self))
        return self->close.status != 0;
    ws_client_end(self, LWS_CLOSE_STATUS_POLICY_VIOLATION,
                  "this client reads too slowly");
    return true;
}

void ws_client_end(ws_client_t *self, int status, const char *text)
{
    if (self->close.status)
        return;
    self->close.status = status;
    snprintf(self->close.text, sizeof self->close.text, "%.99s", text);
    ws_client_wake(self);
}

static frame_node_t *make_node(ws_client_t *self, channel_t channel,
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
    jspan_t whole;
    fault_t fault;

    if (jspan_check(header.bytes, header.size, &whole, &fault) < 0)
        return NULL;
    return jspan_text_new(jspan_member(whole, "msg_type"));
}

/* Destroys a node that no queue has. */
static void destroy_node(frame_node_t **node_p)
{
    buffer_reset(&(*node_p)->bytes);
    free(*node_p);
    *node_p = NULL;
}

/* Queues the message in its short form. */
static void shrink(ws_client_t *self, uint64_t seq, channel_t channel,
                   const websocket_parts_t *parts, frame_node_t **node_p)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    cleanup_free char *type = type_of(parts->header);
    websocket_parts_t small = *parts;

    preview_write(self, seq, type ? type : "", parts->content, &content);
    small.content = buffer_bytes(&content);
    small.buffers = NULL;
    small.buffer_count = 0;
    destroy_node(node_p);
    *node_p = make_node(self, channel, &small);
}

/* Takes the node. */
static void append_node(ws_client_t *self, uint64_t seq, frame_node_t *node)
{
    node->seq = seq;
    node->sent = LWS_PRE;
    if (self->last)
        self->last->next = node;
    else
        self->first = node;
    self->last = node;
    self->queued += node->bytes.size;
    memory_quota_wait(&self->http->memory, (int64_t) node->bytes.size);
    if (!seq)
        self->loose += node->bytes.size;
    ws_client_wake(self);
}

/* Queues a stream message in pieces, without those that an earlier connection
 * of the client took. `rest` is the size of its frame without the content.
 * Returns false if it cannot be split. At least half of a frame is content, so
 * that all pieces together stay below twice the message and a frame. */
static bool queue_pieces(ws_client_t *self, uint64_t seq, channel_t channel,
                         const websocket_parts_t *parts, size_t rest)
{
    cleanup_stream_pieces stream_pieces_t *pieces = NULL;
    uint64_t skip = seq == self->cursor.partial ? self->cursor.bytes : 0;
    websocket_parts_t piece;
    uint64_t end;

    if (rest + ID_ROOM > self->frame_max / 2)
        return false;
    pieces = stream_pieces_new(parts, self->frame_max - rest - ID_ROOM, skip);
    if (!pieces)
        return false;
    while (stream_pieces_next(pieces, &piece, &end)) {
        frame_node_t *node = make_node(self, channel, &piece);
        node->end = end;
        append_node(self, seq, node);
    }
    return true;
}

void ws_client_queue(ws_client_t *self, uint64_t seq, channel_t channel,
                     const websocket_parts_t *parts)
{
    frame_node_t *node = make_node(self, channel, parts);
    size_t size = node->bytes.size - LWS_PRE;
    bool is_begun = seq && seq == self->cursor.partial;

    if ((size > self->frame_max || is_begun)
        && queue_pieces(self, seq, channel, parts,
                        size - parts->content.size)) {
        destroy_node(&node);
        return;
    }
    if (size > self->frame_max)
        shrink(self, seq, channel, parts, &node);
    append_node(self, seq, node);
}

void ws_client_queue_made(ws_client_t *self, uint64_t seq, channel_t channel,
                          const char *type, bytes_t parent, bytes_t content)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY;
    char id[33];
    uint8_t bytes[16];

    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(id, sizeof id, bytes, sizeof bytes);
    message_write_header(&header, id,
                         self->subscription
                                 && self->subscription->kernel_session
                             ? self->subscription->kernel_session
                             : "",
                         type, clock_wall_us());
    const websocket_parts_t parts = {
        .header = {.bytes = header.data, .size = header.size},
        .parent = parent,
        .content = content};
    ws_client_queue(self, seq, channel, &parts);
}

void ws_client_queue_status(ws_client_t *self, const char *state,
                            bytes_t parent)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    message_write_status(&content, state);
    ws_client_queue_made(self, 0, CHANNEL_IOPUB, "status", parent,
                         buffer_bytes(&content));
}

/* --- Writing --- */

/* Notes a frame that was handed to the socket as a whole. */
static void note_delivery(resume_cursor_t *cursor, const frame_node_t *node)
{
    if (node->end) {
        cursor->partial = node->seq;
        cursor->bytes = node->end;
    } else if (node->seq > cursor->seq) {
        cursor->seq = node->seq;
    }
}

/* Writes a fragment of the first frame. */
static int write_fragment(ws_client_t *self)
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
    note_delivery(&self->cursor, node);
    drop_first(self);
    return 0;
}

/* Writes a ping or a fragment. A ping may be sent between fragments, but not
 * within one. */
int ws_client_write(ws_client_t *self)
{
    if (!self->keepalive.wants_ping && !self->first)
        return 0;
    if ((self->keepalive.wants_ping
             ? socket_keepalive_write(&self->keepalive, self->wsi)
             : write_fragment(self))
        < 0)
        return -1;
    return 1;
}
