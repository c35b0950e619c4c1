/* The kernel link: bytes come in pieces of a size that the first byte
 * chooses. There is one way to write a frame, so that what was decoded,
 * encoded again, must be the bytes that came. */
#include "base/buffer.h"
#include "protocol/frame.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(frame_decoder_t *decoder, const uint8_t *data, size_t size)
{
    size_t room = 0;
    void *space = frame_decoder_space(decoder, &room);
    assert(room >= size);
    memcpy(space, data, size);
    frame_decoder_added(decoder, size);
}

/* Any bytes as the parts of a frame: it must come back. */
static void check_encoding(const uint8_t *data, size_t size)
{
    size_t third = size / 3;
    const bytes_t buffers[] = {{data, third}, {data, 0}, {data, size}};
    frame_t frame = {.type = (uint16_t) (size * 257),
                     .seq = size,
                     .request = ~(uint64_t) size,
                     .metadata = {data + third, third},
                     .content = {data, size},
                     .buffers = buffers,
                     .buffer_count = size % 4};
    cleanup_buffer buffer_t once = BUFFER_EMPTY;
    cleanup_buffer buffer_t twice = BUFFER_EMPTY;
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    frame_t again;
    fault_t fault;
    frame_encode(&frame, &once);
    for (size_t at = 0; at < once.size; at += 4096)
        feed(decoder, once.data + at,
             once.size - at < 4096 ? once.size - at : 4096);
    assert(frame_decoder_next(decoder, &again, &fault) == 1);
    assert(again.type == frame.type && again.seq == frame.seq);
    assert(again.content.size == size);
    assert(again.buffer_count == frame.buffer_count);
    frame_encode(&again, &twice);
    assert(once.size == twice.size);
    assert(memcmp(once.data, twice.data, once.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t step = data[0] == 0 ? 60000 : data[0];
    data++;
    size--;
    if (size <= 4096)
        check_encoding(data, size);

    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    cleanup_buffer buffer_t encoded = BUFFER_EMPTY;
    int r = 0;
    for (size_t at = 0; at < size && r >= 0; at += step) {
        feed(decoder, data + at, size - at < step ? size - at : step);
        frame_t frame;
        fault_t fault;
        while ((r = frame_decoder_next(decoder, &frame, &fault)) > 0)
            frame_encode(&frame, &encoded);
    }
    assert(encoded.size <= size);
    if (encoded.size > 0)
        assert(memcmp(encoded.data, data, encoded.size) == 0);
    return 0;
}
