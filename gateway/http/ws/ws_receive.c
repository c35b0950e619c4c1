/* What comes in by a WebSocket: frames become requests of its session. See
 * websocket.h. */
#include "gateway/http/ws/websocket.h"

#include "base/log.h"
#include "gateway/http/ws/subscription.h"
#include "protocol/limits.h"
#include "protocol/observer_rules.h"

#include <errno.h>
#include <string.h>

#define WAITING_MAX  64           /* requests before HELLO */
#define SERVICE_KEEP (256u << 10) /* bytes of an inbox that are kept */

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

zlistx_t *viewer_waiting_new(void)
{
    zlistx_t *list = zlistx_new();

    zlistx_set_destructor(list, destroy_waiting);
    return list;
}

/* --- Requests --- */

/* The reply that a refused request gets, with all that clients wait for. */
static void refuse_request(viewer_t *self, channel_t channel,
                           const message_t *message, const char *ename,
                           const char *sentence)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    char reply[REFUSAL_TYPE_SIZE];

    if (!refusal_type(message_type(message), reply) || viewer_end_flooded(self))
        return;
    refusal_write(&content, ename, sentence);
    bytes_t text = {.bytes = content.data, .size = content.size};
    viewer_queue_status(self, "busy", message_header(message));
    viewer_queue_made(self, 0, channel, reply, message_header(message), text);
    if (strcmp(message_type(message), "execute_request") == 0)
        viewer_queue_made(self, 0, CHANNEL_IOPUB, "error",
                          message_header(message), text);
    viewer_queue_status(self, "idle", message_header(message));
}

static void request(viewer_t *self, channel_t channel, const message_t *message)
{
    bool is_there = self->watch && !self->watch->is_over;
    const char *ename = "KernelDied";
    fault_t fault;
    int r = -ENOTCONN;

    if (!(self->scopes & AUTH_EXECUTE)
        && !refusal_is_needless(message_type(message))) {
        refuse_request(self, channel, message, "PermissionError",
                       "this connection may only observe; executing needs a "
                       "token with the scope execute");
        return;
    }
    if (channel == CHANNEL_STDIN)
        self->question = 0;
    if (is_there && !self->watch->is_greeted)
        ename = "KernelNotReady",
        fault_set(&fault, ENOTCONN, "the session has not answered yet");
    else if (is_there)
        r = front_request(self->http->front, self->watch->id, self->name,
                          channel, message, &fault);
    else
        fault_set(&fault, ENOTCONN, "the session is gone");
    if (r < 0)
        refuse_request(self, channel, message,
                       r == -EBADMSG ? "ValueError" : ename, fault.text);
}

static bool hold(viewer_t *self, size_t bytes)
{
    return holding_set(&self->http->holdings, &self->held,
                       self->waiting_bytes + bytes);
}

void viewer_send_waiting(viewer_t *self)
{
    waiting_t *item;

    while ((item = zlistx_first(self->waiting))) {
        request(self, item->channel, item->message);
        zlistx_delete(self->waiting, NULL);
    }
    self->waiting_bytes = 0;
    (void) hold(self, self->inbox.size);
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
        self->waiting_bytes += self->inbox.size;
        return;
    }
    request(self, channel, message);
}

static int part(struct lws *wsi, int status, const char *reason)
{
    cleanup_free char *text = mem_text(reason);

    lws_close_reason(wsi, (enum lws_close_status) status,
                     (unsigned char *) text, strlen(text));
    return -1;
}

int viewer_receive(viewer_t *self, struct lws *wsi, const void *bytes,
                   size_t size)
{
    size_t left = lws_remaining_packet_payload(wsi);

    if (self->close_status)
        return 0;
    if (self->inbox.size + size + left > self->http->options->http.frame_max
        || self->inbox.size + size + left > WIRE_MESSAGE_MAX)
        return part(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
                    "the frame is bigger than http/frame_max");
    if (!hold(self, self->inbox.size + size))
        return part(wsi, VIEWER_CLOSE_LATER,
                    "too much comes in at this time; come back later");
    buffer_append(&self->inbox, bytes, size);
    if (left || !lws_is_final_fragment(wsi))
        return 0;
    on_frame(self);
    if (self->inbox.capacity > SERVICE_KEEP)
        buffer_reset(&self->inbox);
    else
        buffer_clear(&self->inbox);
    (void) hold(self, 0);
    return 0;
}
