#include "notebooks/modelview/line_pattern.h"

#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

static bool finds(const char *expression, const char *line)
{
    const char *flaw = NULL;
    cleanup_line_pattern line_pattern_t *pattern =
        line_pattern_new(expression, &flaw);

    if (!pattern)
        fail_msg("%s: %s", expression, flaw);
    return line_pattern_finds(pattern, text_bytes(line));
}

static void finds_patterns_that_agents_write(void **state)
{
    static const struct {
        const char *expression, *yes, *no;
    } rows[] = {
        {"error", "an error.", "an eror"},
        {"^epoch \\d+/\\d+$", "epoch 12/100", " epoch 12/100"},
        {"warn|error", "an error", "fine"},
        {"(?i)error", "ERROR", "err"},
        {"a.c", "abc", "ac"},
        {"a.c", "a日c", "a日日c"},
        {"[a-c]+x", "abcx", "dx"},
        {"[^0-9]", "a", "123"},
        {"[]x-]", "]", "y"},
        {"\\bid\\b", "the id.", "idea"},
        {"\\Bd\\b", "id", "d"},
        {"(ab)*c", "c", "ab"},
        {"^(ab)+c", "ababc", "c"},
        {"^(?:a|b)?c$", "bc", "abc"},
        {"^a{3}$", "aaa", "aaaa"},
        {"^a{2,3}$", "aaa", "a"},
        {"^a{2,}$", "aaaaa", "a"},
        {"^a{0,1}b$", "ab", "aab"},
        {"^a{0}b$", "b", "ab"},
        {"^(a|b{2}){2}$", "bba", "ba"},
        {"^(|a)+b$", "aab", "aac"},
        {"loss=\\d\\.\\d+", "loss=0.25", "loss=a.25"},
        {"\\[\\d+\\]", "[12]", "12"},
        {"x{", "x{", "x"},
        {"\\t", "a\tb", "atb"},
        {"日本", "in 日本", "in 日木"},
        {"\\S+@\\w+", "me@here", "me @ here"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!finds(rows[i].expression, rows[i].yes))
            fail_msg("%s in %s", rows[i].expression, rows[i].yes);
        if (finds(rows[i].expression, rows[i].no))
            fail_msg("%s not in %s", rows[i].expression, rows[i].no);
    }
}

static void names_the_mistake(void **state)
{
    static const char *const wrong[] = {"(a",
                                        "a)",
                                        "[a",
                                        "*a",
                                        "a\\",
                                        "[b-a]",
                                        "a{3,2}",
                                        "(?=a)",
                                        "a{9999}",
                                        "(\\1)",
                                        "+",
                                        "a|*",
                                        "(((a{99}){99}){99})"};
    const char *flaw;

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        flaw = NULL;
        cleanup_line_pattern line_pattern_t *pattern =
            line_pattern_new(wrong[i], &flaw);
        if (pattern || !flaw)
            fail_msg("%s was accepted", wrong[i]);
    }
}

/* An expression with a hundred branches in one another tries each state once
 * a byte. */
static void is_bounded_for_hostile_expressions(void **state)
{
    static const char *const hostile[] = {"^(a+)+$", "(a*)*b",
                                          "(a|a)*(a|a)*(a|a)*b", "(.*a){20}b"};
    char line[5001];

    (void) state;
    memset(line, 'a', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const char *flaw = NULL;
        cleanup_line_pattern line_pattern_t *pattern =
            line_pattern_new(hostile[i], &flaw);
        assert_non_null(pattern);
        (void) line_pattern_finds(pattern, text_bytes(line));
        assert_true(line_pattern_steps(pattern)
                    <= sizeof line * 2 * LINE_PATTERN_STATES_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_patterns_that_agents_write),
        cmocka_unit_test(names_the_mistake),
        cmocka_unit_test(is_bounded_for_hostile_expressions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
