/* Frames of a page that watches. A topic is one that the feed has, and its
 * numbers are in their bounds. */
#include "gateway/http/window/feed_message.h"

#include "gateway/frontends/frontend.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_feed_message feed_message_t message;
    const char *id;

    if (feed_message_read(data, size, &message))
        return 0;
    if (message.kind == FEED_MESSAGE_CREDIT) {
        assert(message.credit <= FEED_MESSAGE_CREDIT_MAX);
        return 0;
    }
    assert(message.text && strlen(message.text) <= size);
    if (message.kind == FEED_MESSAGE_TOKEN)
        return 0;
    assert(strlen(message.text) < FEED_MESSAGE_TOPIC_SIZE);
    assert(!message.has_since || !message.tail);
    assert(message.since <= INT64_MAX && message.tail <= INT64_MAX);
    id = feed_message_session(message.text);
    if (id)
        assert(*id && strlen(id) < FRONTEND_ID_MAX && !strpbrk(id, "/. "));
    else
        assert(strcmp(message.text, FEED_MESSAGE_LIST) == 0);
    return 0;
}
