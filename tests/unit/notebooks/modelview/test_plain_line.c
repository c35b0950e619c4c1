#include "notebooks/modelview/plain_line.h"

#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

/* Reads all lines of the text, joined by |. */
static char *read_all(const char *text)
{
    cleanup_plain_line plain_line_t lines;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    plain_line_init(&lines, text, strlen(text));
    while (plain_line_next(&lines)) {
        buffer_append(&out, lines.line.bytes, lines.line.size);
        buffer_text(&out, "|");
    }
    buffer_text(&out, "");
    return mem_copy(out.data ? (char *) out.data : "", out.size);
}

#define assert_lines(text, expected)                                           \
    do {                                                                       \
        cleanup_free char *lines_ = read_all(text);                            \
        assert_string_equal(lines_, expected);                                 \
    } while (0)

static void reads_lines_as_they_are(void **state)
{
    (void) state;
    assert_lines("", "");
    assert_lines("a", "a|");
    assert_lines("a\n\tb  \n\nc\n", "a|\tb  ||c|");
    assert_lines("größer 日本 👩‍🔬\n",
                 "größer 日本 👩‍🔬|");
}

static void takes_out_control_sequences(void **state)
{
    (void) state;
    assert_lines("\x1b[31mred\x1b[0m \x1b[38;5;28;01mgreen\x1b[39;00m",
                 "red green|");
    assert_lines("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ end", "link end|");
    assert_lines("\x1b]0;title\x07text", "text|");
    assert_lines("\xc2\x9b"
                 "1mbold\x1b(B.",
                 "bold.|");
    assert_lines("\x1bPq#0;2\x1b\\after\x1b", "after|");
    assert_lines("a\x1b[\nb", "a|b|");
    assert_lines("bell\x07 nul\x01 del\x7f", "bell nul del|");
}

static void overwrites_after_a_carriage_return(void **state)
{
    (void) state;
    assert_lines("10%\r50%\r100%\ndone\r\n", "100%|done|");
    assert_lines("loading...\rok", "okading...|");
    assert_lines("loading...\r\x1b[Kok", "ok|");
    assert_lines("loading...\x1b[2K\rok", "ok|");
    assert_lines("abc\b\bX", "aXc|");
    assert_lines("\b\bx", "x|");
    assert_lines("abc\x1b[2GX", "aXc|");
    assert_lines("é日本\rab", "ab本|");
    assert_lines("100 %   \r50", "500 %|");
}

static void removes_invisible_characters(void **state)
{
    (void) state;
    assert_lines("a\u200bb\u202ec\u2066d\ufeffe\u00adf", "abcdef|");
    assert_lines("x\U000e0041\U000e0042y", "xy|");
    assert_lines("\xc2\x85\xc2\x99z", "z|");
}

static void replaces_invalid_utf8(void **state)
{
    (void) state;
    assert_lines("a\xff\xc3z", "a\ufffd\ufffdz|");
}

/* A line of a million carriage returns after a long one takes no longer than
 * its bytes, and what no longer can be overwritten is kept. */
static void takes_linear_time_on_a_hostile_line(void **state)
{
    const size_t half = 1 << 20;
    cleanup_free char *text = mem_new(half * 3 + 1);
    cleanup_plain_line plain_line_t lines;

    (void) state;
    memset(text, 'x', half);
    for (size_t i = 0; i < half; i++)
        memcpy(text + half + i * 2, "\ry", 2);
    plain_line_init(&lines, text, half * 3);
    assert_true(plain_line_next(&lines));
    assert_true(lines.line.size <= half + 1);
    assert_true(lines.line.size >= half - 65536);
    assert_false(plain_line_next(&lines));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_lines_as_they_are),
        cmocka_unit_test(takes_out_control_sequences),
        cmocka_unit_test(overwrites_after_a_carriage_return),
        cmocka_unit_test(removes_invisible_characters),
        cmocka_unit_test(replaces_invalid_utf8),
        cmocka_unit_test(takes_linear_time_on_a_hostile_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
