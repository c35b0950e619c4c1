/* A viewer from its handshake to its end. See websocket.h. */
#include "gateway/http/ws/websocket.h"

#include "gateway/http/ws/resume_state.h"
#include "gateway/http/ws/subscription.h"

#include <string.h>

#define VOUCH_MS (3600 * 1000)

void viewer_detach(viewer_t *self)
{
    if (!self->watch)
        return;
    if (self->is_returning && self->has_cursor)
        notes_keep_cursor(self->http, self->watch->id, self->name,
                          self->delivered, self->question);
    watch_remove(self->watch, self);
    self->watch = NULL;
}

void viewer_destroy(viewer_t **self_p)
{
    viewer_t *self = *self_p;

    if (!self)
        return;
    viewer_detach(self);
    viewer_drop_frames(self);
    journal_reader_destroy(&self->reader);
    zlistx_destroy(&self->waiting);
    buffer_reset(&self->inbox);
    (void) holding_set(&self->http->holdings, &self->held, 0);
    free(self);
    *self_p = NULL;
}

/* The reply to any request of its own ends the question: a cell asks one at a
 * time, and the next cell waits for this one. */
static void note_question(viewer_t *self, const front_event_t *event)
{
    if (event->seq && event->channel == CHANNEL_STDIN)
        self->question = event->seq;
    else if (event->seq && event->channel == CHANNEL_SHELL)
        self->question = 0;
}

bool viewer_end_flooded(viewer_t *self)
{
    if (self->close_status || !viewer_is_flooded(self))
        return self->close_status != 0;
    viewer_end(self, LWS_CLOSE_STATUS_POLICY_VIOLATION,
               "this client reads too slowly");
    return true;
}

/* What everybody is told of somebody's request costs nobody else his
 * connection: he goes without. */
static bool is_too_much(viewer_t *self, const front_event_t *event)
{
    if (event->viewer.size)
        return viewer_end_flooded(self);
    return event->parent.size > strlen("{}") && viewer_is_flooded(self);
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

    note_question(self, event);
    if (event->seq && event->seq <= self->cursor)
        return;
    if (!self->is_behind && viewer_is_full(self))
        self->is_behind = true;
    if (self->is_behind && (event->seq || (is_status && event->request)))
        return;
    if (is_status && event->request && viewer_has_idled(self, event->request))
        return;
    if (event->seq || !is_too_much(self, event))
        viewer_queue(self, event->seq, event->channel, &parts);
}

void viewer_on_hello(viewer_t *self, bool is_first)
{
    if (is_first)
        viewer_settle(self);
    else
        self->is_behind = true;
    viewer_send_waiting(self);
    viewer_wake(self);
}

void viewer_end(viewer_t *self, int status, const char *text)
{
    if (self->close_status)
        return;
    self->close_status = status;
    snprintf(self->close_text, sizeof self->close_text, "%.99s", text);
    viewer_wake(self);
}

/* libwebsockets would part from who has shown no life for a time, which is long
 * (gateway/http/server/server.c) but not endless; that is for TCP to notice
 * (gateway/http/core/listener.c). */
static void vouch(viewer_t *self, int64_t now)
{
    if (!self->wsi || now < self->next_vouch)
        return;
    self->next_vouch = now + VOUCH_MS;
    lws_validity_confirmed(self->wsi);
}

void viewer_on_tick(viewer_t *self, int64_t now)
{
    vouch(self, now);
    if (!self->next_ping || now < self->next_ping || !self->wsi)
        return;
    self->next_ping = now + self->http->options->http.ping_interval_ms;
    self->wants_ping = true;
    viewer_wake(self);
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
        viewer_wake(self);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return viewer_receive(self, wsi, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return viewer_write(self);
    case LWS_CALLBACK_CLOSED:
        self->wsi = NULL;
        viewer_detach(self);
        return 0;
    default:
        return 0;
    }
}
