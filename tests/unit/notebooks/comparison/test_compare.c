/* What counts as the same, and what does not. */
#include "tests/lib/test.h"

#include "notebooks/comparison/compare.h"

#include <string.h>

static bool same(const char *left, const char *right)
{
    compare_t compare = COMPARE_DEFAULT;

    return compare_text(&compare, left, strlen(left), right, strlen(right));
}

static void values_that_vary_between_runs_are_ignored(void **state)
{
    static const char *const pairs[][2] = {
        {"<object at 0x7f12ab34cd56>", "<object at 0x55aa00bb11cc>"},
        {"id 0b5e1f2c-aaaa-4bbb-8ccc-0123456789ab",
         "id ffffffff-0000-4000-8000-000000000000"},
        {"model d41d8cd98f00b204e9800998ecf8427e",
         "model 00000000000000000000000000000000"},
        {"at 2026-01-02 03:04:05.123", "at 2027-11-12T13:14:15Z"},
        {"[03:04:05] done", "[23:59:59] done"},
        {"351 ns \xc2\xb1 0 ns per loop", "9.1 ns \xc2\xb1 3.2 ns per loop"},
        {"Wall time: 1.2 ms", "Wall time: 800 \xc2\xb5s"},
        {"\033[31mred\033[0m", "red"},
        {"10%\r50%\r100%\n", "100%\n"},
        {"10%\r\r100%\r\r", "100%"},
        {"one\r\ntwo\r\r\nthree\r\r\r\n", "one\ntwo\nthree\n"},
        {"0.1234567", "0.1234568"},
        {"1e-05 2.5", "1.0e-05 2.50"},
        {"a   1.0\nb  20.0", "a 1.0\nb 20.0"},
        {"/tmp/ipykernel_12/345.py:1: W", "/tmp/ipykernel_99/1.py:1: W"},
        {"<td id=\"T_1a2b3_row0\">", "<td id=\"T_fffff_row0\">"},
        {"10/10 [00:00<00:00, 85.97it/s]", "10/10 [00:01<00:00,  1.20s/it]"},
        {"of 7 runs, 1,000,000 loops each", "of 7 runs, 100 loops each"},
        {"<ipython-input-10-0123abcd>:1: W", "/tmp/ipykernel_99/1.py:1: W"},
        {"invalid syntax (859882524.py, line 1)",
         "invalid syntax (1234567.py, line 1)"},
        {"x\n", "x"},
        {"", ""},
    };

    (void) state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!same(pairs[i][0], pairs[i][1]))
            fail_msg("\"%s\" is not \"%s\"", pairs[i][0], pairs[i][1]);
}

static void meaningful_differences_count(void **state)
{
    static const char *const pairs[][2] = {
        {"1", "2"},
        {"10", "100"},
        {"0.1", "0.2"},
        {"1.0001", "1.0002"},
        {"abc", "abd"},
        {"a", ""},
        {"a b", "ab"},
        {"1000000", "1000001"},
        {"x1", "x2"},
        {"5 s", "5 m"},
        {"2026-01-02", "2026-01-03"},
        {"0x12", "0x13"},
        {"-1.5", "1.5"},
        {"1,000", "1,001"},
        {"1,000 rows", "1,001 rows"},
        {"85 it", "86 it"},
        {"(1.py, line 1)", "(2.py, line 1)"},
        {"nan", "0.0"},
        {"line\nline", "line"},
        {"1\r\r\n", "2\r\r\n"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (same(pairs[i][0], pairs[i][1]))
            fail_msg("\"%s\" is taken for \"%s\"", pairs[i][0], pairs[i][1]);
}

/* NULL, or what differs; to be freed. */
static char *differing(const char *left, const char *right)
{
    compare_t compare = COMPARE_DEFAULT;
    json_auto_t *a = json_loads(left, 0, NULL);
    json_auto_t *b = json_loads(right, 0, NULL);
    cleanup_difference difference_t difference = {0};

    assert_non_null(a);
    assert_non_null(b);
    bool is_same = compare_outputs(&compare, a, b, &difference);
    assert_int_equal(is_same, difference.what == NULL);
    if (is_same)
        return NULL;
    return mem_format("%s: %s / %s", difference.what, difference.left,
                      difference.right);
}

static void assert_same(const char *left, const char *right)
{
    cleanup_free char *found = differing(left, right);
    assert_null(found);
}

static void assert_differs(const char *left, const char *right,
                           const char *expected)
{
    cleanup_free char *found = differing(left, right);
    assert_non_null(found);
    assert_string_equal(found, expected);
}

#define OUT(text)                                                              \
    "{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"" text "\"}"
#define ERR(text)                                                              \
    "{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"" text "\"}"
#define SHOW(data)                                                             \
    "{\"output_type\":\"display_data\",\"metadata\":{},\"data\":{" data "}}"
#define RAISE(name, value, line)                                               \
    "{\"output_type\":\"error\",\"ename\":\"" name "\",\"evalue\":\"" value    \
    "\",\"traceback\":[\"---\",\"\\u001b[36mCell In[2]\\u001b[39m, line " line \
    "\"]}"

static void outputs_are_compared_by_type(void **state)
{
    (void) state;
    assert_same("[" OUT("a\\nb\\n") "]", "[" OUT("a\\n") "," OUT("b\\n") "]");
    assert_same("[" OUT("a") "," ERR("w") "," OUT("b") "]",
                "[" OUT("ab") "," ERR("w") "]");
    assert_differs("[" OUT("a\\nbc\\n") "]", "[" OUT("a\\nbd\\n") "]",
                   "stdout: bc / bd");
    assert_differs("[" OUT("a") "]", "[]", "stdout: a / ");
    assert_differs("[" SHOW("\"text/plain\":\"1\"") "]", "[]",
                   "outputs: display_data / nothing");
    assert_differs("[" SHOW("\"text/plain\":\"1\"") "]",
                   "[" SHOW("\"text/plain\":\"1\",\"text/html\":\"<b>\"") "]",
                   "text/html: nothing / \"<b>\"");
    assert_same("[" SHOW("\"application/json\":{\"a\":[1.0,\"x\"]}") "]",
                "[" SHOW("\"application/json\":{\"a\":[1.0000001,\"x\"]}") "]");
    assert_differs("[" SHOW("\"application/json\":[1]") "]",
                   "[" SHOW("\"application/json\":[2]") "]",
                   "application/json: [1] / [2]");
}

static void errors_are_compared_by_type_and_line(void **state)
{
    (void) state;
    assert_same("[" RAISE("E", "at 0x7f12ab34cd56", "3") "]",
                "[" RAISE("E", "at 0x7f12ab34cd99", "3") "]");
    assert_differs("[" RAISE("E", "v", "3") "]", "[" RAISE("F", "v", "3") "]",
                   "error: E / F");
    assert_differs("[" RAISE("E", "v", "3") "]", "[" RAISE("E", "v", "4") "]",
                   "traceback: line 3  / line 4 ");
}

/* Two PNGs of one pixel; the second has a text chunk besides, the third
 * another pixel. */
static void pictures_are_compared_by_content(void **state)
{
    static const char plain[] = "[" SHOW(
        "\"image/png\":\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAA"
        "CklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==\"") "]";
    static const char reported[] = "[" SHOW(
        "\"image/png\":\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAA"
        "DnRFWHRTb2Z0d2FyZQBoZWxsb1hgSxkAAAAKSURBVHicY2AA"
        "AAACAAFIr6RxAAAAAElFTkSuQmCC\\n\"") "]";
    static const char other[] = "[" SHOW(
        "\"image/png\":\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAA"
        "CklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==\"") "]";

    (void) state;
    assert_same(plain, plain);
    assert_same(plain, reported);
    cleanup_free char *found = differing(plain, other);
    assert_non_null(found);
    assert_memory_equal(found, "image/png: 1x1 png, ", 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_vary_between_runs_are_ignored),
        cmocka_unit_test(meaningful_differences_count),
        cmocka_unit_test(outputs_are_compared_by_type),
        cmocka_unit_test(errors_are_compared_by_type_and_line),
        cmocka_unit_test(pictures_are_compared_by_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
