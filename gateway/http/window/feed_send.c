/* Sends the feed's messages: those of its topics by turns, made when the socket
 * takes them. See feed_socket.h. */
#include "gateway/http/window/feed_state.h"

#include <string.h>

#define FRAGMENT_MAX (128u << 10) /* bytes that are written at once */
#define TURN         4            /* messages, then others have their turn */

void feed_socket_wake(void *owner)
{
    feed_socket_t *self = owner;

    if (self->wsi)
        lws_callback_on_writable(self->wsi);
}

void feed_socket_end(feed_socket_t *self, int status, const char *why)
{
    if (!self->status) {
        self->status = status;
        self->why = why;
    }
    feed_socket_wake(self);
}

/* Makes the next message of a topic, and the next topic the first. A message
 * may be larger than the credit that is left: then nothing follows until the
 * page has made up for it. */
static bool next_of_topics(feed_socket_t *self)
{
    size_t count = zlistx_size(self->topics);

    for (size_t i = 0; i < count && self->credit > 0; i++) {
        feed_topic_t *topic = zlistx_first(self->topics);
        void *place = zlistx_cursor(self->topics);
        bool has_next = feed_topic_next(topic, &self->out);

        if (feed_topic_is_over(topic))
            zlistx_delete(self->topics, place);
        else
            zlistx_move_end(self->topics, place);
        if (!has_next)
            continue;
        self->credit -= (int64_t) (self->out.size - LWS_PRE);
        return true;
    }
    return false;
}

static bool next_message(feed_socket_t *self)
{
    char *text = zlistx_first(self->answers);

    buffer_clear(&self->out);
    buffer_reserve(&self->out, LWS_PRE);
    self->out.size = self->sent = LWS_PRE;
    if (text) {
        buffer_text(&self->out, text);
        self->answers_bytes -= strlen(text);
        zlistx_delete(self->answers, zlistx_cursor(self->answers));
        return true;
    }
    return next_of_topics(self);
}

static int write_fragment(feed_socket_t *self)
{
    size_t left = self->out.size - self->sent;
    size_t size = left < FRAGMENT_MAX ? left : FRAGMENT_MAX;
    int how = self->sent > LWS_PRE ? LWS_WRITE_CONTINUATION : LWS_WRITE_TEXT;

    if (size < left)
        how |= LWS_WRITE_NO_FIN;
    if (lws_write(self->wsi, self->out.data + self->sent, size,
                  (enum lws_write_protocol) how)
        < 0)
        return -1;
    self->sent += size;
    return 0;
}

/* Makes the next message if the last one is out. Returns false if there is
 * nothing to be written. */
static bool has_more(feed_socket_t *self)
{
    size_t before = self->out.size;
    bool is_there;

    if (self->sent < self->out.size)
        return true;
    is_there = next_message(self);
    if (!is_there)
        buffer_reset(&self->out);
    if (!is_there)
        self->sent = 0;
    memory_quota_wait(&self->http->memory,
                      (int64_t) self->out.size - (int64_t) before);
    return is_there;
}

int feed_socket_write(feed_socket_t *self)
{
    if (self->status && self->sent == self->out.size)
        return socket_close_send(self->wsi, self->status, self->why);
    if (socket_keepalive_write(&self->keepalive, self->wsi) < 0)
        return -1;
    for (int i = 0; i < TURN && !lws_send_pipe_choked(self->wsi); i++) {
        if (!has_more(self))
            return 0;
        if (write_fragment(self) < 0)
            return -1;
    }
    feed_socket_wake(self);
    return 0;
}
