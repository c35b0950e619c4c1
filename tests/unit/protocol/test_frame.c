#include "protocol/frame.h"
#include "protocol/limits.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

/* EXECUTE, request 0x0102, metadata {}, content {"a":1}, buffers "xyz", "". */
static const uint8_t golden[] = {
    20, 0,   0,   0,   1,   0,   3,   0,   0,   0,   0,   0,   0,
    0,  0,   0,   2,   1,   0,   0,   0,   0,   0,   0,   2,   0,
    0,  0,   2,   0,   0,   0,   3,   0,   0,   0,   0,   0,   0,
    0,  '{', '}', '{', '"', 'a', '"', ':', '1', '}', 'x', 'y', 'z',
};

static void feed(frame_decoder_t *decoder, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        size_t room = 0;
        void *space = frame_decoder_space(decoder, &room);
        size_t step = size < room ? size : room;
        memcpy(space, at, step);
        frame_decoder_added(decoder, step);
        at += step;
        size -= step;
    }
}

static void assert_golden(const frame_t *frame)
{
    assert_int_equal(frame->type, FRAME_EXECUTE);
    assert_int_equal(frame->seq, 0);
    assert_int_equal(frame->request, 0x0102);
    assert_int_equal(frame->metadata.size, 2);
    assert_memory_equal(frame->metadata.bytes, "{}", 2);
    assert_int_equal(frame->content.size, 7);
    assert_memory_equal(frame->content.bytes, "{\"a\":1}", 7);
    assert_int_equal(frame->buffer_count, 2);
    assert_int_equal(frame->buffers[0].size, 3);
    assert_memory_equal(frame->buffers[0].bytes, "xyz", 3);
    assert_int_equal(frame->buffers[1].size, 0);
}

static void encodes_byte_for_byte(void **state)
{
    (void) state;
    const bytes_t buffers[] = {{"xyz", 3}, {NULL, 0}};
    frame_t frame = {.type = FRAME_EXECUTE,
                     .request = 0x0102,
                     .metadata = {"{}", 2},
                     .content = {"{\"a\":1}", 7},
                     .buffers = buffers,
                     .buffer_count = 2};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault;
    assert_int_equal(frame_check_size(&frame, &fault), 0);
    frame_encode(&frame, &out);
    assert_int_equal(out.size, sizeof golden);
    assert_memory_equal(out.data, golden, sizeof golden);
}

static void decodes_in_one_piece(void **state)
{
    (void) state;
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    frame_t frame;
    fault_t fault;
    assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 0);
    feed(decoder, golden, sizeof golden);
    feed(decoder, golden, sizeof golden);
    assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 1);
    assert_golden(&frame);
    assert_true(frame_decoder_is_partial(decoder));
    assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 1);
    assert_golden(&frame);
    assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 0);
    assert_false(frame_decoder_is_partial(decoder));
}

static void decodes_byte_by_byte(void **state)
{
    (void) state;
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    frame_t frame;
    fault_t fault;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof golden; i++) {
            assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 0);
            feed(decoder, golden + i, 1);
            assert_true(frame_decoder_is_partial(decoder));
        }
        assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 1);
        assert_golden(&frame);
    }
}

static void decodes_an_empty_frame(void **state)
{
    (void) state;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    frame_t ack = {.type = FRAME_ACK, .seq = UINT64_MAX};
    frame_encode(&ack, &out);
    assert_int_equal(out.size, FRAME_HEADER_SIZE);
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    feed(decoder, out.data, out.size);
    frame_t frame;
    fault_t fault;
    assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 1);
    assert_int_equal(frame.type, FRAME_ACK);
    assert_true(frame.seq == UINT64_MAX);
    assert_int_equal(frame.content.size, 0);
    assert_int_equal(frame.buffer_count, 0);
}

static void decodes_a_frame_larger_than_one_read(void **state)
{
    (void) state;
    size_t size = 5u << 20;
    cleanup_free char *text = malloc(size);
    memset(text, 'x', size);
    const bytes_t buffers[] = {{text, size}};
    frame_t large = {.type = FRAME_COMM_MSG,
                     .seq = 1,
                     .content = {text, size - 7},
                     .buffers = buffers,
                     .buffer_count = 1};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    frame_encode(&large, &out);
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    frame_t frame;
    fault_t fault;
    for (int round = 0; round < 2; round++) {
        feed(decoder, out.data, out.size);
        assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 1);
        assert_int_equal(frame.content.size, size - 7);
        assert_int_equal(frame.buffers[0].size, size);
        assert_memory_equal(frame.buffers[0].bytes, text, size);
    }
}

static void asks_for_memory_as_bytes_arrive(void **state)
{
    (void) state;
    uint8_t header[FRAME_HEADER_SIZE];
    memcpy(header, golden, sizeof header);
    const uint32_t body = FRAME_BODY_MAX;
    memcpy(header, &body, sizeof body); /* announces all that is allowed */
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    feed(decoder, header, sizeof header);
    frame_t frame;
    fault_t fault;
    assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 0);
    size_t room = 0;
    frame_decoder_space(decoder, &room);
    assert_int_equal(room, 64u << 10);
}

/* Overwrites 4 bytes of the golden frame and decodes it. */
static int decode_changed(size_t offset, uint32_t value, fault_t *fault)
{
    uint8_t changed[sizeof golden];
    memcpy(changed, golden, sizeof golden);
    memcpy(changed + offset, &value, sizeof value);
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    feed(decoder, changed, sizeof changed);
    frame_t frame;
    int r = frame_decoder_next(decoder, &frame, fault);
    if (r < 0) /* and it stays refused */
        assert_int_equal(frame_decoder_next(decoder, &frame, fault), r);
    return r;
}

/* The rest of a frame for which there is room makes nothing grow, and what was
 * large is given back. */
static void keeps_its_memory_within_bounds(void **state)
{
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    static uint8_t content[300000];
    frame_t frame = {.type = FRAME_STREAM, .content = {content, 100000}}, got;
    size_t room, held;
    fault_t fault;

    (void) state;
    frame_encode(&frame, &bytes);
    feed(decoder, bytes.data, 64 << 10);
    assert_int_equal(frame_decoder_next(decoder, &got, &fault), 0);
    held = frame_decoder_held(decoder);
    assert_int_equal(frame_decoder_growth(decoder), 0);
    (void) frame_decoder_space(decoder, &room);
    assert_int_equal(frame_decoder_held(decoder), held);
    assert_true(room >= bytes.size - (64 << 10));
    feed(decoder, bytes.data + (64 << 10), bytes.size - (64 << 10));
    assert_int_equal(frame_decoder_next(decoder, &got, &fault), 1);
    assert_int_equal(got.content.size, 100000);
    assert_int_equal(frame_decoder_next(decoder, &got, &fault), 0);
    assert_int_equal(frame_decoder_held(decoder), held);
    buffer_clear(&bytes);
    frame.content.size = sizeof content;
    frame_encode(&frame, &bytes);
    feed(decoder, bytes.data, bytes.size);
    assert_int_equal(frame_decoder_next(decoder, &got, &fault), 1);
    assert_int_equal(frame_decoder_next(decoder, &got, &fault), 0);
    assert_int_equal(frame_decoder_held(decoder), 0);
}

static void refuses_lengths_that_break_a_limit(void **state)
{
    (void) state;
    fault_t fault;
    assert_int_equal(decode_changed(0, FRAME_BODY_MAX + 1, &fault), -EPROTO);
    assert_int_equal(decode_changed(0, UINT32_MAX, &fault), -EPROTO);
    assert_int_equal(decode_changed(0, 1u << 31, &fault), -EPROTO);
    assert_int_equal(decode_changed(24, FRAME_METADATA_MAX + 1, &fault),
                     -EPROTO);
    assert_int_equal(decode_changed(24, UINT32_MAX, &fault), -EPROTO);
    assert_int_equal(decode_changed(28, FRAME_BUFFERS_MAX + 1, &fault),
                     -EPROTO);
    assert_int_equal(decode_changed(28, UINT32_MAX, &fault), -EPROTO);
}

static void refuses_lengths_that_contradict_each_other(void **state)
{
    (void) state;
    fault_t fault;
    assert_int_equal(decode_changed(0, 9, &fault), -EPROTO);
    assert_int_equal(decode_changed(24, 13, &fault), -EPROTO);
    assert_int_equal(decode_changed(28, 5, &fault), -EPROTO);
    assert_int_equal(decode_changed(32, 11, &fault), -EPROTO);
    assert_int_equal(decode_changed(32, UINT32_MAX, &fault), -EPROTO);
    /* Two that would add up to less in 32 bits. */
    assert_int_equal(decode_changed(36, UINT32_MAX - 2, &fault), -EPROTO);
    /* Just fitting: nothing is left for the content. */
    assert_int_equal(decode_changed(32, 10, &fault), 1);
}

static void refuses_another_version(void **state)
{
    (void) state;
    fault_t fault;
    assert_int_equal(decode_changed(4, 3u << 16 | 2, &fault), -EPROTO);
    assert_non_null(strstr(fault.text, "version 2"));
}

static void forgets_everything_when_cleared(void **state)
{
    (void) state;
    cleanup_frame_decoder frame_decoder_t *decoder = frame_decoder_new();
    frame_t frame;
    fault_t fault;
    feed(decoder, golden, sizeof golden - 1);
    assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 0);
    frame_decoder_clear(decoder);
    assert_false(frame_decoder_is_partial(decoder));
    feed(decoder, golden, sizeof golden);
    assert_int_equal(frame_decoder_next(decoder, &frame, &fault), 1);
    assert_golden(&frame);
}

static void reports_a_too_large_frame_before_encoding(void **state)
{
    (void) state;
    fault_t fault;
    frame_t content = {.content = {"", (size_t) FRAME_BODY_MAX + 1}};
    assert_int_equal(frame_check_size(&content, &fault), -EMSGSIZE);
    frame_t metadata = {.metadata = {"", (size_t) FRAME_METADATA_MAX + 1}};
    assert_int_equal(frame_check_size(&metadata, &fault), -EMSGSIZE);
    const bytes_t halves[] = {{"", FRAME_BODY_MAX / 2},
                              {"", FRAME_BODY_MAX / 2}};
    frame_t buffers = {.buffers = halves, .buffer_count = 2};
    assert_int_equal(frame_check_size(&buffers, &fault), -EMSGSIZE);
    bytes_t many[FRAME_BUFFERS_MAX + 1] = {{NULL, 0}};
    frame_t count = {.buffers = many, .buffer_count = FRAME_BUFFERS_MAX + 1};
    assert_int_equal(frame_check_size(&count, &fault), -EMSGSIZE);
    count.buffer_count--;
    assert_int_equal(frame_check_size(&count, &fault), 0);
}

static void knows_names_and_message_types(void **state)
{
    (void) state;
    assert_string_equal(frame_type_name(FRAME_EXECUTE), "EXECUTE");
    assert_string_equal(frame_message_type(FRAME_EXECUTE), "execute_request");
    assert_string_equal(frame_message_type(FRAME_WELCOME), "");
    assert_null(frame_type_name(0));
    assert_null(frame_type_name(UINT16_MAX));
    assert_string_equal(frame_message_type(77), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_byte_for_byte),
        cmocka_unit_test(decodes_in_one_piece),
        cmocka_unit_test(decodes_byte_by_byte),
        cmocka_unit_test(decodes_an_empty_frame),
        cmocka_unit_test(decodes_a_frame_larger_than_one_read),
        cmocka_unit_test(asks_for_memory_as_bytes_arrive),
        cmocka_unit_test(keeps_its_memory_within_bounds),
        cmocka_unit_test(refuses_lengths_that_break_a_limit),
        cmocka_unit_test(refuses_lengths_that_contradict_each_other),
        cmocka_unit_test(refuses_another_version),
        cmocka_unit_test(forgets_everything_when_cleared),
        cmocka_unit_test(reports_a_too_large_frame_before_encoding),
        cmocka_unit_test(knows_names_and_message_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
