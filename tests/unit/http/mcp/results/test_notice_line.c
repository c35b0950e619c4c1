#include "gateway/http/mcp/results/notice_line.h"

#include "tests/lib/test.h"

#include <string.h>

static void assert_line(const char *text, const char *expected)
{
    bytes_t line = notice_line(text_bytes(text));

    assert_int_equal(line.size, strlen(expected));
    assert_memory_equal(line.bytes, expected, line.size);
}

static void is_the_last_line(void **state)
{
    (void) state;
    assert_line("", "");
    assert_line("\n\r\n", "");
    assert_line("one", "one");
    assert_line("one\ntwo\n", "two");
    assert_line("one\r\ntwo\r\n\n", "two");
    assert_line("10%\r20%", "20%");
}

static void is_the_end_of_a_long_line_in_whole_letters(void **state)
{
    char text[2 * NOTICE_LINE_MAX + 2] = {0};
    bytes_t line;

    (void) state;
    memset(text, 'x', NOTICE_LINE_MAX + 1);
    line = notice_line(text_bytes(text));
    assert_int_equal(line.size, NOTICE_LINE_MAX);
    for (size_t i = 0; i < NOTICE_LINE_MAX; i++)
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    text[2 * NOTICE_LINE_MAX] = 'z';
    line = notice_line(text_bytes(text));
    assert_int_equal(line.size, NOTICE_LINE_MAX - 1);
    assert_memory_equal(line.bytes, "\xc3\xa9", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_last_line),
        cmocka_unit_test(is_the_end_of_a_long_line_in_whole_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
