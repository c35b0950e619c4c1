/* Reads the messages of a client of the feed: JSON objects in text frames,
 * which may be hostile. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_WINDOW_FEED_MESSAGE_H
#define HEARTH_GATEWAY_HTTP_WINDOW_FEED_MESSAGE_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FEED_MESSAGE_LIST       "sessions"
#define FEED_MESSAGE_SESSION    "session/" /* with the id of a session */
#define FEED_MESSAGE_TOPIC_SIZE 80         /* with its NUL */
#define FEED_MESSAGE_CREDIT_MAX (16u << 20)

typedef enum {
    FEED_MESSAGE_TOKEN,
    FEED_MESSAGE_CREDIT,
    FEED_MESSAGE_OPEN,
    FEED_MESSAGE_CLOSE,
} feed_message_kind_t;

typedef struct {
    feed_message_kind_t kind;
    char *text;      /* owned; the token, or the topic */
    uint64_t credit; /* bytes; of CREDIT */
    /* For OPEN: where a session's records begin. */
    bool has_since;
    uint64_t since; /* the last record that the client has */
    uint64_t tail;  /* or how many at most; 0: all */
} feed_message_t;

/* Reads a frame. Returns NULL, or a sentence that says what is wrong with it.
 * The caller clears the message in any case. */
const char *feed_message_read(const void *bytes, size_t size,
                              feed_message_t *ret_message);
void feed_message_clear(feed_message_t *self);
#define cleanup_feed_message CLEANUP(feed_message_clear)

/* Returns the id in the topic of a session, lent; NULL for another topic. */
const char *feed_message_session(const char *topic);

#endif
