#include "protocol/keeper.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static void comes_back_as_it_was(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    keeper_message_t message = {
        KEEPER_OUTPUT, {0x0102030405060708, KEEPER_STDERR}, {"abc", 3}};
    keeper_message_t back;
    fault_t fault;

    (void) state;
    keeper_encode(&message, &out);
    assert_int_equal(out.size, KEEPER_HEADER_SIZE + 3);
    assert_int_equal(out.data[8], 8);
    assert_int_equal(keeper_decode(buffer_bytes(&out), &back, &fault), 0);
    assert_int_equal(back.kind, KEEPER_OUTPUT);
    assert_int_equal(back.numbers[0], message.numbers[0]);
    assert_int_equal(back.numbers[1], KEEPER_STDERR);
    assert_int_equal(back.data.size, 3);
    assert_memory_equal(back.data.bytes, "abc", 3);
}

static int decode_changed(size_t at, uint8_t byte)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    keeper_message_t message = {KEEPER_OUTPUT, {0, KEEPER_STDOUT}, {"x", 1}};
    keeper_message_t back;
    fault_t fault;

    keeper_encode(&message, &out);
    out.data[at] = byte;
    return keeper_decode(buffer_bytes(&out), &back, &fault);
}

static void refuses_what_it_does_not_know(void **state)
{
    keeper_message_t back;
    fault_t fault;

    (void) state;
    assert_int_equal(decode_changed(0, 1), 0);
    assert_int_equal(decode_changed(0, 2), -EPROTO);  /* version */
    assert_int_equal(decode_changed(4, 9), -EPROTO);  /* kind */
    assert_int_equal(decode_changed(16, 0), -EPROTO); /* no stream */
    assert_int_equal(decode_changed(16, 3), -EPROTO);
    assert_int_equal(decode_changed(15, 0x80), -EPROTO); /* offset */
    assert_int_equal(keeper_decode((bytes_t){"", 0}, &back, &fault), -EPROTO);
    assert_int_equal(keeper_decode((bytes_t){NULL, 0}, &back, &fault), -EPROTO);
}

static void refuses_data_past_the_bound_of_its_kind(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    keeper_message_t message = {KEEPER_STOP, {5000}, {NULL, 0}};
    keeper_message_t back;
    fault_t fault;

    (void) state;
    keeper_encode(&message, &out);
    assert_int_equal(keeper_decode(buffer_bytes(&out), &back, &fault), 0);
    buffer_append(&out, "x", 1);
    assert_int_equal(keeper_decode(buffer_bytes(&out), &back, &fault), -EPROTO);
}

static void texts_come_back_in_order(void **state)
{
    const char *const arguments[] = {"sh", ""};
    const char *const environment[] = {"A=1"};
    keeper_start_t start = {".", arguments, 2, environment, 1};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    bytes_t texts;
    fault_t fault;

    (void) state;
    assert_int_equal(keeper_write_start(&start, &out, &fault), 0);
    texts = buffer_bytes(&out);
    assert_string_equal(keeper_next_text(&texts), ".");
    assert_string_equal(keeper_next_text(&texts), "sh");
    assert_string_equal(keeper_next_text(&texts), "");
    assert_string_equal(keeper_next_text(&texts), "A=1");
    assert_null(keeper_next_text(&texts));
    texts = (bytes_t){"no end", 6};
    assert_null(keeper_next_text(&texts));
}

static void refuses_too_many_bytes_of_texts(void **state)
{
    cleanup_free char *word = mem_new(KEEPER_START_MAX + 1);
    const char *arguments[] = {word};
    keeper_start_t start = {"", arguments, 1, NULL, 0};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault;

    (void) state;
    memset(word, 'x', KEEPER_START_MAX - 2);
    assert_int_equal(keeper_write_start(&start, &out, &fault), 0);
    word[KEEPER_START_MAX - 2] = 'x';
    buffer_clear(&out);
    assert_int_equal(keeper_write_start(&start, &out, &fault), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_was),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(refuses_data_past_the_bound_of_its_kind),
        cmocka_unit_test(texts_come_back_in_order),
        cmocka_unit_test(refuses_too_many_bytes_of_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
