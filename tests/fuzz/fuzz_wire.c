/* Multipart messages. The first byte decides whether there is a key and whether
 * the signature is corrected, so that the parser after the check is reached,
 * too. Then the frames follow, each after two bytes with its length. */
#include "base/buffer.h"
#include "protocol/wire.h"

#include <assert.h>
#include <string.h>

#define WITH_KEY 1
#define SIGN     2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static zmsg_t *split(const uint8_t *data, size_t size)
{
    zmsg_t *frames = zmsg_new();
    while (size >= 2) {
        size_t length = (size_t) data[0] | (size_t) data[1] << 8;
        data += 2;
        size -= 2;
        if (length > size)
            length = size;
        zmsg_addmem(frames, data, length);
        data += length;
        size -= length;
    }
    return frames;
}

/* Replaces the frame after the delimiter if four more follow it. */
static void put_signature_right(zmsg_t *frames, const secret_t *secret)
{
    zframe_t *frame = zmsg_first(frames);
    while (frame != NULL && !zframe_streq(frame, "<IDS|MSG>"))
        frame = zmsg_next(frames);
    zframe_t *signature = frame != NULL ? zmsg_next(frames) : NULL;
    struct iovec parts[4];
    for (size_t i = 0; i < 4; i++) {
        zframe_t *part = signature != NULL ? zmsg_next(frames) : NULL;
        if (part == NULL)
            return;
        parts[i] = (struct iovec){zframe_data(part), zframe_size(part)};
    }
    char text[SECRET_SIGNATURE_SIZE];
    secret_sign(secret, parts, 4, text);
    zframe_reset(signature, text, sizeof text);
}

static void assert_equal(bytes_t one, bytes_t two)
{
    assert(one.size == two.size);
    assert(one.size == 0 || memcmp(one.bytes, two.bytes, one.size) == 0);
}

static void check_round_trip(const message_t *message, const secret_t *secret)
{
    zmsg_t *frames = wire_encode(message, secret);
    cleanup_message message_t *again = NULL;
    fault_t fault;
    wire_verdict_t verdict = wire_decode(frames, secret, NULL, &again, &fault);
    assert(verdict == WIRE_OK);
    zmsg_destroy(&frames);
    assert_equal(message_header(message), message_header(again));
    assert_equal(message_parent(message), message_parent(again));
    assert_equal(message_metadata(message), message_metadata(again));
    assert_equal(message_content(message), message_content(again));
    assert(strcmp(message_id(message), message_id(again)) == 0);
    size_t count = message_identity_count(message);
    assert(count == message_identity_count(again));
    for (size_t i = 0; i < count; i++)
        assert_equal(message_identity(message, i), message_identity(again, i));
    count = message_buffer_count(message);
    assert(count == message_buffer_count(again));
    for (size_t i = 0; i < count; i++)
        assert_equal(message_buffer(message, i), message_buffer(again, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static secret_t *keyed;
    static secret_t *none;
    fault_t fault = {0};
    if (keyed == NULL
        && (secret_new("key", 3, &keyed, &fault) < 0
            || secret_new("", 0, &none, &fault) < 0))
        abort();
    if (size == 0)
        return 0;
    const secret_t *secret = data[0] & WITH_KEY ? keyed : none;
    zmsg_t *frames = split(data + 1, size - 1);
    if (data[0] & SIGN)
        put_signature_right(frames, secret);

    cleanup_replay_guard replay_guard_t *history = replay_guard_new(8);
    cleanup_message message_t *message = NULL;
    wire_verdict_t verdict =
        wire_decode(frames, secret, history, &message, &fault);
    assert((verdict == WIRE_OK) == (message != NULL));
    assert((verdict == WIRE_OK) == (fault.code == 0));
    if (message != NULL) {
        assert(message_id(message)[0] != '\0');
        assert(message_type(message)[0] != '\0');
        check_round_trip(message, secret);
        message_destroy(&message);
        verdict = wire_decode(frames, secret, history, &message, &fault);
        assert(verdict == (secret == keyed ? WIRE_REPLAYED : WIRE_OK));
    }
    zmsg_destroy(&frames);
    return 0;
}
