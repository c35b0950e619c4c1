/* See feed_message.h. */
#include "gateway/http/window/feed_message.h"

#include "gateway/frontends/frontend.h"
#include "protocol/jspan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX 1024 /* bytes */

_Static_assert(sizeof FEED_MESSAGE_SESSION + FRONTEND_ID_MAX
                   <= FEED_MESSAGE_TOPIC_SIZE,
               "a topic has room for each session's id");

const char *feed_message_session(const char *topic)
{
    size_t size = strlen(FEED_MESSAGE_SESSION);

    return strncmp(topic, FEED_MESSAGE_SESSION, size) == 0 ? topic + size
                                                           : NULL;
}

static bool is_topic(const char *topic)
{
    const char *id = feed_message_session(topic);
    size_t size = id ? strlen(id) : 0;

    if (strcmp(topic, FEED_MESSAGE_LIST) == 0)
        return true;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char) id[i]) && id[i] != '-')
            return false;
    return size > 0 && size < FRONTEND_ID_MAX;
}

/* Reads a number that may be missing. Returns false if it is no number. */
static bool read_number(jspan_t object, const char *name, uint64_t *ret_number,
                        bool *ret_is_there)
{
    jspan_t value = jspan_member(object, name);
    int64_t number = 0;

    *ret_is_there = !jspan_is(value, JSPAN_ABSENT);
    if (*ret_is_there
        && (!jspan_is_integer(value) || !jspan_to_integer(value, &number)
            || number < 0))
        return false;
    *ret_number = (uint64_t) number;
    return true;
}

static const char *read_topic(jspan_t object, jspan_t topic,
                              feed_message_t *message)
{
    bool has_tail;

    message->text = jspan_plain_new(topic);
    if (!message->text || !is_topic(message->text))
        return "a topic is \"sessions\" or \"session/ID\" with a whole id";
    if (!read_number(object, "since", &message->since, &message->has_since)
        || !read_number(object, "tail", &message->tail, &has_tail)
        || (message->has_since && has_tail))
        return "since and tail are numbers of records, one of the two";
    return NULL;
}

const char *feed_message_read(const void *bytes, size_t size,
                              feed_message_t *ret_message)
{
    static const char *const names[] = {"token", "credit", "open", "close",
                                        NULL};
    jspan_t whole, values[sizeof names / sizeof *names - 1];
    size_t kind = 0;
    bool is_there;
    fault_t ignored;

    *ret_message = (feed_message_t){0};
    if (jspan_check(bytes, size, &whole, &ignored) < 0
        || !jspan_is(whole, JSPAN_OBJECT))
        return "a message is a JSON object";
    jspan_members(whole, names, values);
    while (names[kind] && jspan_is(values[kind], JSPAN_ABSENT))
        kind++;
    ret_message->kind = (feed_message_kind_t) kind;
    switch (ret_message->kind) {
    case FEED_MESSAGE_TOKEN:
        ret_message->text = jspan_plain_new(values[kind]);
        return ret_message->text && strlen(ret_message->text) < TOKEN_MAX
                   ? NULL
                   : "a token is a text of less than 1024 bytes, without NUL";
    case FEED_MESSAGE_CREDIT:
        return read_number(whole, "credit", &ret_message->credit, &is_there)
                       && ret_message->credit <= FEED_MESSAGE_CREDIT_MAX
                   ? NULL
                   : "credit is a number of bytes, 16 MiB at most";
    case FEED_MESSAGE_OPEN:
    case FEED_MESSAGE_CLOSE:
        return read_topic(whole, values[kind], ret_message);
    }
    return "a message has one of token, open, close, credit";
}

void feed_message_clear(feed_message_t *self)
{
    free(self->text);
    *self = (feed_message_t){0};
}
