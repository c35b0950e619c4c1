#include "gateway/session/limits/output_limit.h"
#include "tests/lib/test.h"

#include <string.h>

static const profile_limits_t limits = {
    .cell_output = 100,
    .cell_messages = 5,
    .session_output = 1000,
    .session_messages = 50,
};
static const profile_limits_t no_limits = {0};

static frame_t frame(uint16_t type, size_t content, size_t metadata)
{
    return (frame_t){.type = type,
                     .seq = 3,
                     .content = {"", content},
                     .metadata = {"", metadata}};
}

static void weighs_all_parts_of_a_frame(void **state)
{
    bytes_t buffers[] = {{"", 5}, {"", 7}};
    frame_t display = frame(FRAME_DISPLAY, 10, 20);

    (void) state;
    assert_int_equal(output_limit_weight(&display), 30);
    display.buffers = buffers;
    display.buffer_count = 2;
    assert_int_equal(output_limit_weight(&display), 42);
}

static bool bounds(const frame_t *of)
{
    return output_limit_bounds(of, output_limit_weight(of));
}

static void bounds_output_alone(void **state)
{
    static const uint16_t free_types[] = {
        FRAME_REPLY,   FRAME_READY,         FRAME_MARKED,   FRAME_STRUCK,
        FRAME_YIELDED, FRAME_INPUT_REQUEST, FRAME_AWAITING, FRAME_CALL,
        FRAME_UNCALL,  FRAME_LOOKED,
    };
    frame_t error = frame(FRAME_ERROR, OUTPUT_LIMIT_ERROR_MAX, 0);
    frame_t stream = frame(FRAME_STREAM, 1, 0);

    (void) state;
    for (size_t i = 0; i < sizeof free_types / sizeof *free_types; i++) {
        frame_t other = frame(free_types[i], 1000000, 0);

        assert_false(bounds(&other));
    }
    assert_true(bounds(&stream));
    assert_false(bounds(&error));
    error.content.size++;
    assert_true(bounds(&error));
}

static void a_cell_may_use_all_of_its_bytes(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "profile python");

    (void) state;
    output_limit_begin_cell(self, 4);
    assert_false(output_limit_count(self, 60, true, true));
    assert_false(output_limit_is_past(self, 40, 1));
    assert_true(output_limit_is_past(self, 41, 1));
    assert_string_equal(
        output_limit_text(self),
        "the cell gave 101 bytes of output while running cell "
        "4; at most 100 are permitted (limits/cell_output of profile "
        "python)");
    assert_int_equal(output_limit_max(self), 100);
    assert_int_equal(output_limit_cell_bytes(self), 60);
}

static void a_cell_may_send_all_of_its_messages(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "profile python");

    (void) state;
    output_limit_begin_cell(self, 4);
    for (int i = 0; i < 4; i++)
        assert_false(output_limit_count(self, 1, true, true));
    assert_false(output_limit_is_past(self, 1, 1));
    assert_true(output_limit_is_past(self, 1, 2));
    assert_int_equal(output_limit_max(self), 5);
    assert_non_null(strstr(output_limit_text(self), "cell_messages"));
}

static void other_messages_do_not_count_as_output(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "profile python");

    (void) state;
    output_limit_begin_cell(self, 4);
    assert_false(output_limit_count(self, 500, false, true));
    assert_int_equal(output_limit_cell_bytes(self), 0);
    assert_false(output_limit_is_past(self, 100, 5));
}

static void a_call_counts_as_a_message(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "profile python");

    (void) state;
    output_limit_begin_cell(self, 4);
    for (int i = 0; i < 5; i++)
        assert_false(output_limit_count_call(self, true));
    assert_false(output_limit_is_over(self));
    assert_true(output_limit_count_call(self, true));
    assert_true(output_limit_is_over(self));
    assert_int_equal(output_limit_cell_bytes(self), 0);
    assert_non_null(strstr(output_limit_text(self), "cell_messages"));
    assert_false(output_limit_count_call(self, true)); /* once */
    /* The cell's end is no reason to end the kernel. */
    assert_false(output_limit_count(self, 1, false, false));
    output_limit_begin_cell(self, 5);
    assert_false(output_limit_count_call(self, true));
}

static void calls_between_cells_end_the_kernel(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "profile python");

    (void) state;
    output_limit_begin_cell(self, 4);
    for (int i = 0; i < 5; i++) {
        assert_false(output_limit_count_call(self, false));
        assert_false(output_limit_count(self, 1, false, false));
    }
    assert_false(output_limit_count_call(self, false));
    assert_true(output_limit_count(self, 1, false, false));
}

static void the_first_drop_is_news(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "profile python");
    frame_t first = frame(FRAME_STREAM, 30, 0);
    frame_t second = frame(FRAME_STREAM, 12, 0);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    (void) state;
    output_limit_begin_cell(self, 4);
    assert_false(output_limit_is_over(self));
    assert_int_equal(output_limit_dropped_seq(self), 0);
    assert_true(output_limit_drop(self, &first));
    assert_true(output_limit_is_over(self));
    second.seq = 4;
    assert_false(output_limit_drop(self, &second));
    assert_int_equal(output_limit_dropped_seq(self), 4);
    output_limit_write_dropped(self, &text);
    assert_string_equal((const char *) text.data,
                        "{\"bytes\":42,\"messages\":2}");
    output_limit_forget_dropped(self);
    assert_int_equal(output_limit_dropped_seq(self), 0);
    /* Not one byte more of this cell. */
    assert_true(output_limit_is_past(self, 0, 0));
    output_limit_begin_cell(self, 5);
    assert_false(output_limit_is_past(self, 100, 5));
    buffer_clear(&text);
    output_limit_write_dropped(self, &text);
    assert_string_equal((const char *) text.data,
                        "{\"bytes\":0,\"messages\":0}");
}

static void a_session_may_use_all_of_its_bytes(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "session s");

    (void) state;
    output_limit_begin_cell(self, 4);
    assert_false(output_limit_count(self, 1000, false, true));
    assert_true(output_limit_count(self, 1, false, true));
    assert_non_null(strstr(output_limit_text(self),
                           "the session gave 1001 bytes of output while "
                           "running cell 4; at most 1000 are permitted "
                           "(limits/session_output of session s)"));
    output_limit_reset(self);
    assert_false(output_limit_count(self, 1000, false, true));
    assert_string_equal(output_limit_text(self), "");
}

static void a_session_may_send_all_of_its_messages(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "profile python");

    (void) state;
    for (int i = 0; i < 50; i++)
        assert_false(output_limit_count(self, 0, false, true));
    assert_true(output_limit_count(self, 0, false, true));
    assert_non_null(strstr(output_limit_text(self), "session_messages"));
}

static void output_between_cells_ends_the_kernel(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&limits, "profile python");

    (void) state;
    assert_false(output_limit_count(self, 100, true, false));
    assert_true(output_limit_count(self, 1, true, false));
    output_limit_begin_cell(self, 2);
    assert_false(output_limit_count(self, 101, true, true));
    assert_true(output_limit_count(self, 0, false, false));
}

static void a_limit_of_zero_means_no_limit(void **state)
{
    cleanup_output_limit output_limit_t *self =
        output_limit_new(&no_limits, "profile python");

    (void) state;
    assert_false(output_limit_is_past(self, 1u << 30, 1u << 30));
    assert_false(output_limit_count(self, 1u << 30, true, false));
    output_limit_destroy(&self);
    assert_null(self);
    output_limit_destroy(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighs_all_parts_of_a_frame),
        cmocka_unit_test(bounds_output_alone),
        cmocka_unit_test(a_cell_may_use_all_of_its_bytes),
        cmocka_unit_test(a_cell_may_send_all_of_its_messages),
        cmocka_unit_test(other_messages_do_not_count_as_output),
        cmocka_unit_test(a_call_counts_as_a_message),
        cmocka_unit_test(calls_between_cells_end_the_kernel),
        cmocka_unit_test(the_first_drop_is_news),
        cmocka_unit_test(a_session_may_use_all_of_its_bytes),
        cmocka_unit_test(a_session_may_send_all_of_its_messages),
        cmocka_unit_test(output_between_cells_ends_the_kernel),
        cmocka_unit_test(a_limit_of_zero_means_no_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
