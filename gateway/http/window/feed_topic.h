/* A topic that one page has opened: the list of sessions, or the records of one
 * session's journal. It queues nothing: the next message is made when the page
 * takes it, from the list as it is then or from the journal. Belongs to the
 * page's socket. */
#ifndef HEARTH_GATEWAY_HTTP_WINDOW_FEED_TOPIC_H
#define HEARTH_GATEWAY_HTTP_WINDOW_FEED_TOPIC_H

#include "gateway/http/window/feed_list.h"
#include "gateway/http/window/feed_message.h"

typedef struct feed_topic feed_topic_t;
typedef void feed_topic_wake_fn(void *owner);

typedef struct {
    http_t *http;             /* borrowed */
    feed_list_t *list;        /* borrowed */
    feed_topic_wake_fn *wake; /* there may be a next message */
    void *owner;              /* borrowed; for wake */
} feed_topic_place_t;

/* Opens what the message names. */
feed_topic_t *feed_topic_new(const feed_topic_place_t *place,
                             const feed_message_t *message);
void feed_topic_destroy(feed_topic_t **self_p);
#define cleanup_feed_topic CLEANUP(feed_topic_destroy)

const char *feed_topic_name(const feed_topic_t *self);
/* Appends the next message. Returns false if nothing waits to be sent. */
bool feed_topic_next(feed_topic_t *self, buffer_t *out);
/* Returns true after the last message: an error, or a session's end. */
bool feed_topic_is_over(const feed_topic_t *self);
/* Appends a message that says why a topic is not, or no longer, open. */
void feed_topic_write_error(const char *topic, int status, const char *text,
                            buffer_t *out);

#endif
