/* A client's WebSocket frame: the first byte chooses the form. What was
 * decoded, encoded and decoded again must be the same message. */
#include "protocol/websocket.h"

#include <assert.h>
#include <string.h>

#define BUFFERS_MAX 1100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_same(bytes_t one, bytes_t other)
{
    assert(one.size == other.size);
    assert(memcmp(one.bytes, other.bytes, one.size) == 0);
}

static void check_again(websocket_form_t form, channel_t channel,
                        const message_t *message)
{
    static bytes_t buffers[BUFFERS_MAX];
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_message message_t *again = NULL;
    size_t count = message_buffer_count(message);
    channel_t channel_again;
    fault_t fault;

    assert(count < BUFFERS_MAX);
    for (size_t i = 0; i < count; i++)
        buffers[i] = message_buffer(message, i);
    const websocket_parts_t parts = {.header = message_header(message),
                                     .parent = message_parent(message),
                                     .metadata = message_metadata(message),
                                     .content = message_content(message),
                                     .buffers = buffers,
                                     .buffer_count = count};
    websocket_encode(form, false, channel, &parts, &out);
    int r = websocket_decode(form, out.data, out.size, &channel_again, &again,
                             &fault);
    assert(r == 0);
    assert(channel_again == channel);
    assert(message_buffer_count(again) == count);
    assert_same(message_header(message), message_header(again));
    assert_same(message_parent(message), message_parent(again));
    assert_same(message_metadata(message), message_metadata(again));
    assert_same(message_content(message), message_content(again));
    for (size_t i = 0; i < count; i++)
        assert_same(message_buffer(message, i), message_buffer(again, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_message message_t *message = NULL;
    channel_t channel;
    fault_t fault;

    if (size == 0)
        return 0;
    websocket_form_t form = data[0] & 1 ? WEBSOCKET_V1 : WEBSOCKET_LEGACY;
    int r =
        websocket_decode(form, data + 1, size - 1, &channel, &message, &fault);
    assert((r == 0) == (message != NULL));
    if (r < 0)
        assert(fault.text[0] != '\0');
    else
        check_again(form, channel, message);
    return 0;
}
