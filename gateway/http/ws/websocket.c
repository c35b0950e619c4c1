/* See websocket.h. */
#include "gateway/http/ws/websocket.h"

#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/resume_state.h"
#include "gateway/http/ws/ws_catchup.h"
#include "gateway/http/ws/ws_greeting.h"
#include "gateway/http/ws/ws_receive.h"
#include "gateway/http/ws/ws_send.h"
#include "gateway/http/ws/ws_tools.h"

#include <string.h>

/* Returns the client whose first member the subscriber is. */
static ws_client_t *client_of(subscriber_t *subscriber)
{
    return (ws_client_t *) subscriber;
}

void ws_client_detach(ws_client_t *self)
{
    ws_tools_destroy(&self->tools);
    if (!self->subscription)
        return;
    if (self->is_returning && self->is_settled)
        resume_state_keep_cursor(self->http, self->subscription->id,
                                 self->subscriber.name, &self->cursor);
    subscription_remove(self->subscription, &self->subscriber);
    self->subscription = NULL;
}

void ws_client_destroy(ws_client_t **self_p)
{
    ws_client_t *self = *self_p;

    if (!self)
        return;
    ws_client_detach(self);
    ws_client_drop_frames(self);
    journal_follower_destroy(&self->follower);
    zlistx_destroy(&self->waiting);
    buffer_reset(&self->inbox);
    buffer_reset(&self->greeting);
    (void) memory_quota_set(&self->http->memory, &self->held, 0);
    free(self);
    *self_p = NULL;
}

/* Notes a question. A reply to one of the client's requests ends it: a cell
 * asks one question at a time, and the next cell waits for this one. */
static void note_question(ws_client_t *self, const frontend_event_t *event)
{
    if (event->seq && event->channel == CHANNEL_STDIN)
        self->cursor.question = event->seq;
    else if (event->seq && event->channel == CHANNEL_SHELL)
        self->cursor.question = 0;
}

/* Returns true if a message would cost another client's connection too much.
 * Messages for all clients about one client's request do not end the others'
 * connections; they are left out. */
static bool is_too_much(ws_client_t *self, const frontend_event_t *event)
{
    if (event->client.size)
        return ws_client_end_flooded(self);
    return event->parent.size > strlen("{}") && ws_client_is_flooded(self);
}

/* Queues a live message, unless the client has it already or it waits in the
 * journal. A message that is not journaled is small and always queued. */
static void on_event(subscriber_t *subscriber, const frontend_event_t *event)
{
    ws_client_t *self = client_of(subscriber);
    const websocket_parts_t parts = {.header = event->header,
                                     .parent = event->parent,
                                     .metadata = event->metadata,
                                     .content = event->content,
                                     .buffers = event->buffers,
                                     .buffer_count = event->buffer_count};
    const journal_live_t live = {.seq = event->seq,
                                 .request = event->request,
                                 .is_broadcast =
                                     event->channel == CHANNEL_IOPUB,
                                 .is_peer_full = ws_client_is_full(self)};

    note_question(self, event);
    if (journal_follower_take(self->follower, &live) == JOURNAL_LIVE_SEND
        && (event->seq || !is_too_much(self, event)))
        ws_client_queue(self, event->seq, event->channel, &parts);
    ws_client_greet_idle(self);
}

/* Chooses the position: where the client stopped, its oldest request without a
 * reply, or the next message. */
static void choose_position(ws_client_t *self)
{
    const subscription_t *subscription = self->subscription;
    resume_cursor_t cursor;
    uint64_t position;

    if (self->is_returning
        && resume_state_take_cursor(self->http, subscription->id,
                                    self->subscriber.name, &cursor)
        && cursor.seq <= subscription->last_seq) {
        self->cursor = cursor;
        journal_follower_resume(self->follower, cursor.seq, false);
    } else if (self->is_returning
               && (position = ws_client_find_unanswered(self))) {
        self->is_repeating = true;
        journal_follower_resume(self->follower, position - 1, false);
    } else {
        journal_follower_begin(self->follower, subscription->last_seq);
        ws_client_greet(self);
    }
}

void ws_client_settle(ws_client_t *self)
{
    if (self->is_settled)
        return;
    self->is_settled = true;
    choose_position(self);
    self->cursor.seq = journal_follower_position(self->follower);
    if (journal_follower_is_behind(self->follower) && self->cursor.question)
        ws_client_ask_again(self);
}

static void on_hello(subscriber_t *subscriber, bool is_first)
{
    ws_client_t *self = client_of(subscriber);

    if (is_first)
        ws_client_settle(self);
    else
        journal_follower_fall_behind(self->follower);
    ws_client_send_waiting(self);
    ws_client_wake(self);
}

static void on_state(subscriber_t *subscriber)
{
    ws_client_greet_idle(client_of(subscriber));
}

static void on_tick(subscriber_t *subscriber, int64_t now)
{
    ws_client_t *self = client_of(subscriber);

    if (self->wsi
        && socket_keepalive_tick(&self->keepalive, self->wsi,
                                 self->http->options->http.ping_interval_ms,
                                 now))
        ws_client_wake(self);
}

static void on_end(subscriber_t *subscriber, int status, const char *text)
{
    ws_client_end(client_of(subscriber), status, text);
}

static void on_detach(subscriber_t *subscriber)
{
    ws_client_detach(client_of(subscriber));
}

const subscriber_ops_t ws_client_ops = {.is_connection = true,
                                        .hello = on_hello,
                                        .event = on_event,
                                        .end = on_end,
                                        .state = on_state,
                                        .tick = on_tick,
                                        .detach = on_detach};

/* Writes when the socket accepts more. */
static int on_writable(ws_client_t *self)
{
    int r;

    do {
        if (journal_follower_is_behind(self->follower))
            ws_client_catch_up(self);
        ws_client_greet_idle(self);
        r = ws_client_write(self);
    } while (r > 0 && !lws_send_pipe_choked(self->wsi));
    if (r < 0)
        return -1;
    if (self->first || journal_follower_is_behind(self->follower)) {
        ws_client_wake(self);
        return 0;
    }
    if (!self->close.status)
        return 0;
    return socket_close_send(self->wsi, self->close.status, self->close.text);
}

int ws_client_callback(ws_client_t *self, struct lws *wsi,
                       enum lws_callback_reasons reason, void *in, size_t size)
{
    if (!self)
        return 0;
    /* A few of the library's many: the cast quiets -Wswitch-enum. */
    switch ((int) reason) {
    case LWS_CALLBACK_ESTABLISHED:
        self->wsi = wsi;
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
        ws_client_wake(self);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return ws_client_receive(self, wsi, in, size);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        return socket_close_receive(wsi, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_writable(self);
    case LWS_CALLBACK_CLOSED:
        self->wsi = NULL;
        ws_client_detach(self);
        return 0;
    default:
        return 0;
    }
}
