#include "gateway/cli/core/raw_terminal.h"
#include "tests/lib/test.h"

#include <string.h>

/* Filters a text in pieces of `step` bytes. */
static void assert_shown(const char *text, const char *shown, size_t step)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    raw_filter_t self = {0};

    for (size_t at = 0; at < strlen(text); at += step) {
        size_t size = strlen(text) - at < step ? strlen(text) - at : step;

        raw_filter_show(&self, (bytes_t){text + at, size}, &out);
    }
    buffer_append(&out, "", 1);
    assert_string_equal((char *) out.data, shown);
}

static void strings_for_the_terminal_are_left_out(void **state)
{
    static const char *const rows[][2] = {
        {"plain \xc3\xa9 \r\n", "plain \xc3\xa9 \r\n"},
        {"a\033[31mb\033[2;3H\033[?1049hc", "a\033[31mb\033[2;3H\033[?1049hc"},
        {"a\033]0;title\007b", "ab"},
        {"a\033]52;c;ZWNobw==\033\\b", "ab"},
        {"a\033P$qm\033\\b", "ab"},
        {"a\xc2\x9d"
         "0;t\xc2\x9c"
         "b",
         "ab"},
        {"a\033\033]x\007b", "ab"},
        {"a\033]x\033y\033\\b", "a\033y\033\\b"}, /* ESC y ends it */
        {"a\033]x\030b", "ab"},
        {"a\xc2\xa9\xc2\x85"
         "b",
         "a\xc2\xa9\xc2\x85"
         "b"},
        {"a\033Xs\033\\\033^p\033\\\033_a\007c\033\\b", "ab"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t step = 1; step < 8; step++)
            assert_shown(rows[i][0], rows[i][1], step);
}

/* Leaving a string out must not bring together the bytes beside it. */
static void no_string_is_made_of_pieces(void **state)
{
    static const char *const rows[][2] = {
        {"\033\033]x\007]52;c;eA==\007", "]52;c;eA==\007"},
        {"\033\xc2\x9dx\007]52;c;eA==\007", "]52;c;eA==\007"},
        {"\xc2\xc2\x9dx\007\x9d", "\x9d"},
        {"\xc2\033]x\007\x9d", "\x9d"},
        {"\033\033[1m", "\033[1m"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t step = 1; step < 8; step++)
            assert_shown(rows[i][0], rows[i][1], step);
}

/* Terminals execute a control inside a sequence, and some pass over a letter
 * that is not ASCII. */
static void odd_bytes_after_escape_hide_no_string(void **state)
{
    static const char *const rows[][2] = {
        {"\033\r\n]0;x\007a", "\r\na"},
        {"\033\177]0;x\007a", "\177a"},
        {"\033\xc3\xa9]0;x\007a", "\xc3\xa9]0;x\007a"},
        {"\033\030]a", "\030]a"},
        {"\033\n[1ma", "\n\033[1ma"},
        {"\033%@\033%Ga", "a"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t step = 1; step < 8; step++)
            assert_shown(rows[i][0], rows[i][1], step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_for_the_terminal_are_left_out),
        cmocka_unit_test(no_string_is_made_of_pieces),
        cmocka_unit_test(odd_bytes_after_escape_hide_no_string),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
