/* See held_replies.h. Owned by the channels of a session. */
#include "gateway/channels/held_replies.h"

#include "base/buffer.h"
#include "protocol/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct held_reply {
    struct held_reply *next; /* owned */
    message_t *message;      /* owned; identities, parts, buffers */
    channel_t channel;
    int64_t deadline; /* monotonic ms */
    size_t weight;    /* bytes */
} held_reply_t;

struct held_replies {
    held_reply_t *first; /* owned; the oldest */
    size_t count, weight;
};

held_replies_t *held_replies_new(void)
{
    return mem_new(sizeof(held_replies_t));
}

/* Takes the reply at `at` out of the list. */
static void let_go(held_replies_t *self, held_reply_t **at)
{
    held_reply_t *held = *at;

    *at = held->next;
    self->count--;
    self->weight -= held->weight;
    message_destroy(&held->message);
    free(held);
}

void held_replies_destroy(held_replies_t **self_p)
{
    held_replies_t *self = *self_p;

    if (!self)
        return;
    while (self->first)
        let_go(self, &self->first);
    free(self);
    *self_p = NULL;
}

static message_t *copy_parts(const wire_parts_t *parts)
{
    message_t *message = message_new(parts->header, parts->parent,
                                     parts->metadata, parts->content);

    for (size_t i = 0; i < parts->identity_count; i++)
        message_add_identity(message, parts->identities[i].bytes,
                             parts->identities[i].size);
    for (size_t i = 0; i < parts->buffer_count; i++)
        message_add_buffer(message, parts->buffers[i].bytes,
                           parts->buffers[i].size);
    return message;
}

static size_t weigh(const wire_parts_t *parts)
{
    size_t weight = parts->header.size + parts->parent.size
                    + parts->metadata.size + parts->content.size;

    for (size_t i = 0; i < parts->buffer_count; i++)
        weight += parts->buffers[i].size;
    return weight;
}

void held_replies_add(held_replies_t *self, channel_t channel,
                      const wire_parts_t *parts, int64_t now)
{
    held_reply_t *held = mem_new(sizeof *held);
    held_reply_t **end = &self->first;

    held->message = copy_parts(parts);
    held->channel = channel;
    held->deadline = now + HELD_REPLIES_MS;
    held->weight = weigh(parts);
    while (*end)
        end = &(*end)->next;
    *end = held;
    self->count++;
    self->weight += held->weight;
    while (self->count > HELD_REPLIES_MAX
           || (self->weight > HELD_REPLIES_BYTES && self->count > 1))
        let_go(self, &self->first);
}

/* Returns true if a reply to that client waits before `end`, NULL: at all. */
static bool waits(const held_replies_t *self, const held_reply_t *end,
                  channel_t channel, bytes_t identity)
{
    for (const held_reply_t *at = self->first; at != end; at = at->next) {
        bytes_t other = message_identity(at->message, 0);

        if (at->channel == channel && other.size == identity.size
            && memcmp(other.bytes, identity.bytes, identity.size) == 0)
            return true;
    }
    return false;
}

bool held_replies_wait_for(const held_replies_t *self, channel_t channel,
                           bytes_t identity)
{
    return waits(self, NULL, channel, identity);
}

bool held_replies_are_there(const held_replies_t *self)
{
    return self->first != NULL;
}

static int send_held(const held_reply_t *held, held_replies_send_fn *send,
                     void *arg)
{
    const message_t *message = held->message;
    wire_parts_t parts = {
        .identities = message_identities(message),
        .identity_count = message_identity_count(message),
        .header = message_header(message),
        .parent = message_parent(message),
        .metadata = message_metadata(message),
        .content = message_content(message),
        .buffers = message_buffers(message),
        .buffer_count = message_buffer_count(message),
    };

    return send(arg, held->channel, &parts);
}

void held_replies_retry(held_replies_t *self, int64_t now,
                        held_replies_send_fn *send, void *arg)
{
    held_reply_t **at = &self->first;

    while (*at) {
        held_reply_t *held = *at;

        if (held->deadline > now
            && (waits(self, held, held->channel,
                      message_identity(held->message, 0))
                || send_held(held, send, arg) == -EHOSTUNREACH)) {
            at = &held->next;
            continue;
        }
        let_go(self, at);
    }
}
