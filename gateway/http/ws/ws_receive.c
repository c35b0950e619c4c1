/* Incoming frames of a WebSocket become requests of its session. See
 * websocket.h. */
#include "gateway/http/ws/ws_receive.h"

#include "base/log.h"
#include "gateway/http/executions/client_key.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/ws/ws_send.h"
#include "gateway/http/ws/ws_tools.h"
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
} early_request_t;

static void destroy_waiting(void **item_p)
{
    early_request_t *item = *item_p;

    message_destroy(&item->message);
    free(item);
    *item_p = NULL;
}

zlistx_t *ws_client_waiting_new(void)
{
    zlistx_t *list = zlistx_new();

    zlistx_set_destructor(list, destroy_waiting);
    return list;
}

/* --- Requests --- */

/* Sends the reply of a refused request, with all messages that clients wait
 * for. */
static void refuse_request(ws_client_t *self, channel_t channel,
                           const message_t *message, const char *ename,
                           const char *sentence)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    char reply[OBSERVER_RULES_TYPE_SIZE];

    if (!observer_rules_type(message_type(message), reply)
        || ws_client_end_flooded(self))
        return;
    observer_rules_write(&content, ename, sentence);
    bytes_t text = {.bytes = content.data, .size = content.size};
    ws_client_queue_status(self, "busy", message_header(message));
    ws_client_queue_made(self, 0, channel, reply, message_header(message),
                         text);
    if (strcmp(message_type(message), "execute_request") == 0)
        ws_client_queue_made(self, 0, CHANNEL_IOPUB, "error",
                             message_header(message), text);
    ws_client_queue_status(self, "idle", message_header(message));
}

/* Returns the message with its key bound to the client's token; NULL if it has
 * no key. Only programs and their input have one. */
static message_t *bind_key(const ws_client_t *self, channel_t channel,
                           const message_t *message)
{
    const char *name = self->subscriber.name; /* begins with the token's id */
    cleanup_free char *token = NULL;

    if (channel != CHANNEL_CONTROL
        || (strcmp(message_type(message), "process_start_request") != 0
            && strcmp(message_type(message), "process_input_request") != 0))
        return NULL;
    token = mem_copy(name, strcspn(name, "/"));
    return client_key_bind_message(self->http, token, message);
}

static void request(ws_client_t *self, channel_t channel,
                    const message_t *message)
{
    cleanup_message message_t *bound = bind_key(self, channel, message);
    bool is_there = self->subscription && !self->subscription->is_over;
    const char *ename = "KernelDied";
    fault_t fault;
    int r = -ENOTCONN;

    if (channel == CHANNEL_CONTROL && ws_tools_take(self, message))
        return;
    if (!(self->scopes & SCOPE_EXECUTE)
        && !observer_rules_is_needless(message_type(message))) {
        refuse_request(self, channel, message, "PermissionError",
                       "this connection may only observe; executing needs a "
                       "token with the scope execute");
        return;
    }
    if (channel == CHANNEL_STDIN)
        self->cursor.question = 0;
    if (is_there && !self->subscription->is_greeted) {
        ename = "KernelNotReady";
        fault_set(&fault, ENOTCONN, "the session has not answered yet");
    } else if (is_there)
        r = frontend_request(self->http->frontend, self->subscription->id,
                             self->subscriber.name, channel,
                             bound ? bound : message, &fault);
    else
        fault_set(&fault, ENOTCONN, "the session is gone");
    if (r < 0)
        refuse_request(self, channel, message,
                       r == -EBADMSG ? "ValueError" : ename, fault.text);
}

static bool hold(ws_client_t *self, size_t bytes)
{
    return memory_quota_set(&self->http->memory, &self->held,
                            self->waiting_bytes + bytes);
}

void ws_client_send_waiting(ws_client_t *self)
{
    early_request_t *item;

    while ((item = zlistx_first(self->waiting))) {
        request(self, item->channel, item->message);
        zlistx_delete(self->waiting, NULL);
    }
    self->waiting_bytes = 0;
    (void) hold(self, self->inbox.size);
}

static void on_frame(ws_client_t *self)
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
        ws_client_end(self, LWS_CLOSE_STATUS_INVALID_PAYLOAD, fault.text);
        return;
    }
    if (self->subscription && !self->subscription->is_greeted
        && !self->subscription->is_over
        && zlistx_size(self->waiting) < WAITING_MAX) {
        early_request_t *item = mem_new(sizeof *item);
        item->channel = channel;
        item->message = take_ptr(message);
        zlistx_add_end(self->waiting, item);
        self->waiting_bytes += self->inbox.size;
        return;
    }
    request(self, channel, message);
}

int ws_client_receive(ws_client_t *self, struct lws *wsi, const void *bytes,
                      size_t size)
{
    size_t left = lws_remaining_packet_payload(wsi);

    if (self->close.status)
        return 0;
    if (self->inbox.size + size + left > self->http->options->http.frame_max
        || self->inbox.size + size + left > WIRE_MESSAGE_MAX)
        return socket_close_send(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
                                 "the frame is bigger than http/frame_max");
    if (!hold(self, self->inbox.size + size))
        return socket_close_send(
            wsi, WS_CLOSE_TRY_AGAIN_LATER,
            "too many messages arrive at this time; try again later");
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
