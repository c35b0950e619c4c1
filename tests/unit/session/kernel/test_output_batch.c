/* Outputs that wait to be journaled together. */
#include "gateway/session/kernel/output_batch.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <string.h>

static frame_t display(uint64_t seq, const char *metadata, const char *content)
{
    return (frame_t){
        .type = FRAME_DISPLAY,
        .seq = seq,
        .request = 7,
        .metadata = text_bytes(metadata),
        .content = text_bytes(content),
    };
}

static void add(output_batch_t *batch, uint64_t seq, const char *content)
{
    frame_t frame = display(seq, "{}", content);

    assert_true(output_batch_has_room(batch, &frame));
    output_batch_add(batch, &frame);
}

static void assert_content(const output_batch_t *batch, size_t index,
                           const char *content)
{
    frame_t frame = output_batch_frame(batch, index);

    assert_int_equal(frame.content.size, strlen(content));
    assert_memory_equal(frame.content.bytes, content, frame.content.size);
}

static void outputs_wait_as_they_came(void **state)
{
    cleanup_output_batch output_batch_t *batch = output_batch_new();
    char text[] = "{\"a\":1}";
    frame_t frame = display(3, "{\"m\":2}", text), kept;

    (void) state;
    assert_int_equal(output_batch_count(batch), 0);
    assert_int_equal(output_batch_bytes(batch), 0);
    assert_int_equal(output_batch_seq(batch), 0);
    output_batch_add(batch, &frame);
    memset(text, 'x', sizeof text); /* it was lent */
    add(batch, 4, "{}");
    assert_int_equal(output_batch_count(batch), 2);
    assert_int_equal(output_batch_bytes(batch), 7 + 7 + 2 + 2);
    assert_int_equal(output_batch_seq(batch), 4);
    kept = output_batch_frame(batch, 0);
    assert_int_equal(kept.type, FRAME_DISPLAY);
    assert_int_equal(kept.seq, 3);
    assert_int_equal(kept.request, 7);
    assert_int_equal(kept.buffer_count, 0);
    assert_int_equal(kept.metadata.size, 7);
    assert_memory_equal(kept.metadata.bytes, "{\"m\":2}", 7);
    assert_content(batch, 0, "{\"a\":1}");
    assert_content(batch, 1, "{}");
}

static void what_was_published_goes(void **state)
{
    cleanup_output_batch output_batch_t *batch = output_batch_new();

    (void) state;
    add(batch, 1, "{\"a\":1}");
    add(batch, 2, "{\"b\":1}");
    add(batch, 3, "{\"long\":1}");
    output_batch_take(batch, 0);
    assert_int_equal(output_batch_count(batch), 3);
    output_batch_take(batch, 2);
    assert_int_equal(output_batch_count(batch), 1);
    assert_int_equal(output_batch_bytes(batch), 12);
    assert_int_equal(output_batch_seq(batch), 3);
    assert_content(batch, 0, "{\"long\":1}");
    output_batch_take(batch, 1);
    assert_int_equal(output_batch_count(batch), 0);
    assert_int_equal(output_batch_bytes(batch), 0);
    add(batch, 4, "{}");
    assert_content(batch, 0, "{}");
    output_batch_clear(batch);
    assert_int_equal(output_batch_count(batch), 0);
}

static void only_small_outputs_without_buffers_wait(void **state)
{
    cleanup_free char *content = mem_new(OUTPUT_BATCH_EACH + 1);
    bytes_t buffer = text_bytes("b");
    frame_t frame;

    (void) state;
    memset(content, 'x', OUTPUT_BATCH_EACH);
    frame = display(1, "", content);
    assert_true(output_batch_permits(&frame));
    frame.metadata = text_bytes("m");
    assert_false(output_batch_permits(&frame));
    frame = display(1, "", "{}");
    frame.buffers = &buffer;
    frame.buffer_count = 1;
    assert_false(output_batch_permits(&frame));
}

static void it_is_destroyed_once(void **state)
{
    output_batch_t *batch = output_batch_new();

    (void) state;
    output_batch_destroy(&batch);
    assert_null(batch);
    output_batch_destroy(&batch);
}

static void it_is_full_by_number_and_by_bytes(void **state)
{
    cleanup_output_batch output_batch_t *batch = output_batch_new();
    cleanup_free char *content = mem_new(OUTPUT_BATCH_EACH + 1);
    frame_t small = display(9, "", "{}"), large;
    uint64_t seq = 0;

    (void) state;
    while (output_batch_has_room(batch, &small))
        output_batch_add(batch, &small);
    assert_int_equal(output_batch_count(batch), OUTPUT_BATCH_MAX);
    output_batch_clear(batch);
    memset(content, 'x', OUTPUT_BATCH_EACH);
    large = display(++seq, "", content);
    while (output_batch_has_room(batch, &large))
        output_batch_add(batch, &large);
    assert_int_equal(output_batch_bytes(batch), OUTPUT_BATCH_BYTES);
    assert_false(output_batch_has_room(batch, &small));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_wait_as_they_came),
        cmocka_unit_test(what_was_published_goes),
        cmocka_unit_test(only_small_outputs_without_buffers_wait),
        cmocka_unit_test(it_is_full_by_number_and_by_bytes),
        cmocka_unit_test(it_is_destroyed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
