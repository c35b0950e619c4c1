/* What may reach a person's terminal out of a kernel's text. */
#include "gateway/cli/core/terminal.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A pseudo-terminal: what is written to one end is read from the other. */
typedef struct {
    int outside;
    FILE *inside;
} pair_t;

static void open_pair(pair_t *pair)
{
    char name[64];

    pair->outside = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(pair->outside >= 0);
    assert_int_equal(grantpt(pair->outside), 0);
    assert_int_equal(unlockpt(pair->outside), 0);
    assert_int_equal(ptsname_r(pair->outside, name, sizeof name), 0);
    pair->inside = fopen(name, "we");
    assert_non_null(pair->inside);
}

/* Shows a text that arrives in two pieces, cut at `cut`. */
static void show(const char *text, size_t cut, char *ret_shown, size_t size)
{
    pair_t pair;
    size_t shown = 0;
    ssize_t got;

    open_pair(&pair);
    {
        cleanup_terminal terminal_t *terminal = terminal_new(pair.inside);

        assert_true(terminal_is_tty(terminal));
        terminal_text(terminal, text, cut);
        terminal_text(terminal, text + cut, strlen(text) - cut);
        terminal_text(terminal, "$", 1);
    }
    fclose(pair.inside);
    /* What was written in pieces may be read in pieces; EIO is the end. */
    while ((got = read(pair.outside, ret_shown + shown, size - 1 - shown)) > 0)
        shown += (size_t) got;
    ret_shown[shown] = '\0';
    close(pair.outside);
}

static void expect(const char *text, const char *shown)
{
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        char got[512];

        show(text, cut, got, sizeof got);
        assert_string_equal(got, shown);
    }
}

static void passes_text_and_colours(void **state)
{
    (void) state;
    expect("a\tb\r\xc3\xa9\xc2\xa0", "a\tb\r\xc3\xa9\xc2\xa0$");
    expect("\033[1;38;5;3mx", "\033[1;38;5;3mx$\033[0m");
}

static void removes_all_other_sequences(void **state)
{
    (void) state;
    expect("a\033[2Jb\033[10;10Hc\033[?1049hd", "abcd$");
    expect("a\033]0;title\007b\033]52;c;ZXZpbA==\033\\c", "abc$");
    expect("a\033Pq#0\033\\b\033_Gf=100;AAAA\033\\c", "abc$");
    expect("a\033cb\033(0c\016d\007e\177f", "abcdef$");
    expect("a\xc2\x9b"
           "2Jb\xc2\x9d"
           "0;t\007c",
           "abc$");
    expect("a\033[>4;2mb\033[?25mc", "abc$");
}

static void removes_characters_that_reorder_text(void **state)
{
    (void) state;
    expect("a\xe2\x80\xae"
           "b\xe2\x81\xa6"
           "c\xe2\x81\xa9",
           "abc$");
    expect("\xe2\x80\xa6\xe2\x82\xac\xe2x", "\xe2\x80\xa6\xe2\x82\xac\xe2x$");
    assert_string_equal(terminal_cell("a\xe2\x80\xae"
                                      "b\xe2\x82\xac",
                                      10),
                        "a?b\xe2\x82\xac");
}

static void shows_text_after_an_unterminated_sequence(void **state)
{
    (void) state;
    expect("a\033]0;no end\nb", "ab$");
}

static void leaves_output_to_files_unchanged(void **state)
{
    static const char text[] = "a\033[2J\033]0;t\007";
    char got[64] = "";
    FILE *file = tmpfile();

    (void) state;
    assert_non_null(file);
    {
        cleanup_terminal terminal_t *terminal = terminal_new(file);

        terminal_text(terminal, text, strlen(text));
        terminal_colored(terminal, "\033[31mred\033[0m", 12);
    }
    rewind(file);
    assert_int_equal(fread(got, 1, sizeof got - 1, file), strlen(text) + 3);
    assert_memory_equal(got, text, strlen(text));
    assert_string_equal(got + strlen(text), "red");
    fclose(file);
}

static void cells_are_one_line_of_text(void **state)
{
    (void) state;
    assert_string_equal(terminal_cell("a\nb\033[m", 10), "a?b?[m");
    assert_string_equal(terminal_cell("\xc3\xa9\xc3\xa9\xc3\xa9", 2),
                        "\xc3\xa9\xc3\xa9");
    assert_string_equal(terminal_cell("a\xc2\x9b"
                                      "b\xc2\xa0",
                                      10),
                        "a?b\xc2\xa0");
    assert_string_equal(terminal_cell("a\xc2", 10), "a?");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_text_and_colours),
        cmocka_unit_test(removes_all_other_sequences),
        cmocka_unit_test(removes_characters_that_reorder_text),
        cmocka_unit_test(shows_text_after_an_unterminated_sequence),
        cmocka_unit_test(leaves_output_to_files_unchanged),
        cmocka_unit_test(cells_are_one_line_of_text),
    };

    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
