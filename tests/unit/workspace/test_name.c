#include "tests/lib/test.h"
#include "workspace/name.h"

#include <errno.h>
#include <string.h>

static void shows_an_ordinary_name_unchanged(void **state)
{
    (void) state;
    static const char name[] = "results/caf\u00e9 \u65e5\u672c \U0001F600.csv";
    cleanup_free char *text = name_text(name);

    assert_string_equal(text, name);
}

/* A name and its text. */
static const struct {
    const char *name, *text;
} pairs[] = {
    {"a\nb", "a\\x0ab"},
    {"\033[2J", "\\x1b[2J"},
    {"\177", "\\x7f"},
    {"\302\233m", "\\xc2\\x9bm"}, /* CSI in one character */
    {"\342\200\256gpj.exe", "\\xe2\\x80\\xaegpj.exe"}, /* right to left */
    {"a\342\200\213b", "a\\xe2\\x80\\x8bb"},           /* zero width space */
    {"\377\376", "\\xff\\xfe"},
    {"\303", "\\xc3"},                            /* half a character */
    {"\300\257", "\\xc0\\xaf"},                   /* an overlong slash */
    {"\355\240\200", "\\xed\\xa0\\x80"},          /* half a pair */
    {"\364\220\200\200", "\\xf4\\x90\\x80\\x80"}, /* past U+10FFFF */
    {"a\\x41", "a\\\\x41"},
};

static void escapes_control_characters_and_reads_them_back(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        cleanup_free char *text = name_text(pairs[i].name);
        cleanup_buffer buffer_t back = BUFFER_EMPTY;
        fault_t fault;

        assert_string_equal(text, pairs[i].text);
        assert_int_equal(name_unescape(text, strlen(text), &back, &fault), 0);
        assert_string_equal((char *) back.data, pairs[i].name);
    }
}

static void refuses_a_text_that_is_no_name(void **state)
{
    (void) state;
    static const char *const bad[] = {"\\",    "\\x", "\\x4",
                                      "\\xzz", "\\n", "\\x00"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cleanup_buffer buffer_t back = BUFFER_EMPTY;
        fault_t fault;

        assert_int_equal(name_unescape(bad[i], strlen(bad[i]), &back, &fault),
                         -EINVAL);
    }
}

static void makes_paths_plain(void **state)
{
    (void) state;
    static const struct {
        const char *text, *path;
    } good[] = {
        {"", ""},       {".", ""},
        {"a", "a"},     {"./a//b/./c/", "a/b/c"},
        {"...", "..."}, {"a\\x0a/b", "a\n/b"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cleanup_free char *path = NULL;
        fault_t fault;

        assert_int_equal(
            name_path(good[i].text, strlen(good[i].text), &path, &fault), 0);
        assert_string_equal(path, good[i].path);
    }
}

static void refuses_paths_that_lead_elsewhere(void **state)
{
    (void) state;
    static const char *const bad[] = {"/etc/passwd", "..",       "a/../b",
                                      "a/..",        "\\x2e./x", "\\x2fetc",
                                      "../../x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cleanup_free char *path = NULL;
        fault_t fault;

        assert_int_equal(name_path(bad[i], strlen(bad[i]), &path, &fault),
                         -EINVAL);
        assert_null(path);
    }
}

static void refuses_a_path_that_is_too_long(void **state)
{
    (void) state;
    cleanup_free char *text = mem_new(PATH_BYTES_MAX + 2);
    cleanup_free char *path = NULL;
    fault_t fault;

    memset(text, 'a', PATH_BYTES_MAX + 1);
    assert_int_equal(name_path(text, PATH_BYTES_MAX + 1, &path, &fault),
                     -ENAMETOOLONG);
    assert_int_equal(name_path(text, PATH_BYTES_MAX, &path, &fault), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_an_ordinary_name_unchanged),
        cmocka_unit_test(escapes_control_characters_and_reads_them_back),
        cmocka_unit_test(refuses_a_text_that_is_no_name),
        cmocka_unit_test(makes_paths_plain),
        cmocka_unit_test(refuses_paths_that_lead_elsewhere),
        cmocka_unit_test(refuses_a_path_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
