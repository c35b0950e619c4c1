#include "base/buffer.h"
#include "tests/lib/test.h"

#include <string.h>

static void keeps_appended_bytes(void **state)
{
    (void) state;
    cleanup_buffer buffer_t buffer = BUFFER_EMPTY;
    buffer_text(&buffer, "warm");
    buffer_append(&buffer, " and safe", 9);
    buffer_format(&buffer, ", %d times", 2);
    assert_string_equal((char *) buffer.data, "warm and safe, 2 times");
    assert_int_equal(buffer.size, 22);
}

static void formats_more_than_its_first_room(void **state)
{
    (void) state;
    cleanup_buffer buffer_t buffer = BUFFER_EMPTY;
    char wide[1000];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    buffer_text(&buffer, "<");
    buffer_format(&buffer, "%s>", wide);
    assert_int_equal(buffer.size, 1001);
    assert_int_equal(buffer.data[1000], '>');
    assert_int_equal(buffer.data[1001], '\0');
}

static void forgets_the_first_bytes(void **state)
{
    (void) state;
    cleanup_buffer buffer_t buffer = BUFFER_EMPTY;
    buffer_consume(&buffer, 0);
    buffer_text(&buffer, "onetwo");
    buffer_consume(&buffer, 3);
    assert_string_equal((char *) buffer.data, "two");
    buffer_consume(&buffer, 3);
    assert_int_equal(buffer.size, 0);
}

static void keeps_its_memory_when_emptied(void **state)
{
    (void) state;
    cleanup_buffer buffer_t buffer = BUFFER_EMPTY;
    buffer_text(&buffer, "gone");
    size_t capacity = buffer.capacity;
    buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(buffer.capacity, capacity);
    assert_string_equal((char *) buffer.data, "");
    buffer_reset(&buffer);
    assert_null(buffer.data);
    buffer_text(&buffer, "again");
    assert_string_equal((char *) buffer.data, "again");
}

static void copies_bytes_and_ends_them_with_nul(void **state)
{
    (void) state;
    cleanup_free char *copy = mem_copy("a\0b", 3);
    assert_memory_equal(copy, "a\0b", 4);
    assert_null(mem_text(NULL));
    cleanup_free char *text = mem_format("%s-%d", "port", 7);
    assert_string_equal(text, "port-7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_appended_bytes),
        cmocka_unit_test(formats_more_than_its_first_room),
        cmocka_unit_test(forgets_the_first_bytes),
        cmocka_unit_test(keeps_its_memory_when_emptied),
        cmocka_unit_test(copies_bytes_and_ends_them_with_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
