#include "protocol/jspan.h"
#include "protocol/limits.h"
#include "tests/lib/checked.h"

#include <errno.h>
#include <string.h>

/* Checks the text in memory of its exact size, so that a sanitizer sees a
 * read past its end. */
static int check(const char *text, size_t size, jspan_t *ret_value,
                 fault_t *fault)
{
    cleanup_free char *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, text, size);
    return jspan_check(exact, size, ret_value, fault);
}

static void finds_a_member_and_reads_it(void **state)
{
    (void) state;
    jspan_t content = checked(" {\"code\": \"1+1\\n\", \"n\" : 7 } ");
    assert_int_equal(content.text[0], '{');
    assert_int_equal(content.text[content.size - 1], '}');
    cleanup_free char *code = jspan_text_new(jspan_member(content, "code"));
    assert_string_equal(code, "1+1\n");
    int64_t n = 0;
    assert_true(jspan_to_integer(jspan_member(content, "n"), &n));
    assert_int_equal(n, 7);
    assert_true(jspan_is(jspan_member(content, "x"), JSPAN_ABSENT));
    assert_null(jspan_text_new(jspan_member(content, "n")));
}

static void finds_several_members_in_one_pass(void **state)
{
    static const char *const keys[] = {"b", "a", "none", NULL};
    jspan_t object = checked("{\"a\":1,\"b\":\"x\",\"a\":2,\"c\":[]}");
    jspan_t found[3];
    int64_t a;

    (void) state;
    jspan_members(object, keys, found);
    assert_true(jspan_text_equals(found[0], "x"));
    assert_true(jspan_to_integer(found[1], &a));
    assert_int_equal(a, 2); /* the last one of two counts */
    assert_true(jspan_is(found[2], JSPAN_ABSENT));
    jspan_members(found[0], keys, found); /* no object */
    assert_true(jspan_is(found[0], JSPAN_ABSENT));
}

static void accepts_valid_json(void **state)
{
    (void) state;
    static const char *const texts[] = {
        "{}",
        "[]",
        "0",
        "-0",
        "-0.0e-00",
        "1E+2",
        "123456789012345678901234567890",
        "1e999",
        "true",
        "false",
        "null",
        "\"\"",
        " \t\r\n[ 1 , {\"a\" : [ ] } ]\n",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\x7f\"",
        "\"\xC2\x80\xE0\xA0\x80\xED\x9F\xBF\xEF\xBF\xBF\xF0\x90\x80\x80\"",
        "\"\xF4\x8F\xBF\xBF\"",
        "{\"a\":1,\"a\":2}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        jspan_t value;
        fault_t fault;
        if (check(texts[i], strlen(texts[i]), &value, &fault) < 0)
            fail_msg("%s: %s", texts[i], fault.text);
    }
}

static void check_all_are_refused(const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        jspan_t value;
        fault_t fault;
        if (check(texts[i], strlen(texts[i]), &value, &fault) != -EBADMSG)
            fail_msg("accepted: %s", texts[i]);
    }
}

static void refuses_invalid_structure(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "[",
        "]",
        "}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{,}",
        "{\"a\" 1}",
        "[\"a\":1]",
        "{\"a\":1:2}",
        "1 1",
        "{} {}",
        "[] x",
        "/* */ 1",
        "\xEF\xBB\xBF{}",
    };

    (void) state;
    check_all_are_refused(texts, sizeof texts / sizeof *texts);
}

static void refuses_invalid_numbers_and_words(void **state)
{
    static const char *const texts[] = {
        "01",  "-01",   "-",    "+1",  ".5",   "1.",       "1.e1",
        "1e",  "1e+",   "--1",  "0x1", "NaN",  "Infinity", "-Infinity",
        "tru", "truee", "True", "nul", "fals",
    };

    (void) state;
    check_all_are_refused(texts, sizeof texts / sizeof *texts);
}

static void refuses_invalid_strings(void **state)
{
    static const char *const texts[] = {
        "\"",
        "\"a",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12G4\"",
        "'a'",
        "\"\n\"",
        "\"\t\"",
        "\"\\u",
        "\"abcdefghijklmno",
    };

    (void) state;
    check_all_are_refused(texts, sizeof texts / sizeof *texts);
}

static bool is_portable(const char *text)
{
    jspan_t value;
    fault_t fault;
    bool is_json = check(text, strlen(text), &value, &fault) == 0;
    int r = jspan_check_portable(text, strlen(text), &value, &fault);

    assert_true(is_json);
    assert_true(r == 0 || r == -EBADMSG);
    return r == 0;
}

static void finds_halves_of_surrogate_pairs(void **state)
{
    (void) state;
    assert_true(is_portable("[\"\\ud83d\\ude00\",\"\\uD7FF\\uE000\"]"));
    assert_true(is_portable("\"\\\\ud800\""));
    assert_false(is_portable("\"\\ud800\""));
    assert_false(is_portable("\"\\uDFFF\""));
    assert_false(is_portable("\"\\ud83d\\u0041\""));
    assert_false(is_portable("\"\\ud83d\\n\\ude00\""));
    assert_false(is_portable("\"\\ude00\\ud83d\""));
    assert_false(is_portable("{\"a\":{\"\\udc00\":1}}"));
    assert_false(is_portable("\"\\ud83d\\ud83d\\ude00\""));
}

static void finds_integers_of_too_many_digits(void **state)
{
    char digits[JSON_DIGITS_MAX + 2];

    (void) state;
    memset(digits, '7', sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    cleanup_free char *real =
        mem_format("[%s.5,%se1,0.%s]", digits, digits, digits);
    cleanup_free char *least = mem_format("{\"a\":-%s}", digits + 1);
    cleanup_free char *over = mem_format("{\"a\":-%s}", digits);
    assert_true(is_portable(real));
    assert_true(is_portable(least));
    assert_true(is_portable(digits + 1));
    assert_false(is_portable(over));
    assert_false(is_portable(digits));
}

static void refuses_invalid_utf8(void **state)
{
    (void) state;
    static const char *const texts[] = {
        "\"\x80\"",
        "\"\xC0\x80\"",
        "\"\xC1\xBF\"",
        "\"\xC3\"",
        "\"\xE0\x9F\xBF\"",
        "\"\xE2\x82\"",
        "\"\xED\xA0\x80\"",
        "\"\xED\xBF\xBF\"",
        "\"\xF0\x8F\xBF\xBF\"",
        "\"\xF4\x90\x80\x80\"",
        "\"\xF5\x80\x80\x80\"",
        "\"\xFF\"",
        "\"12345678\xC3(\"",
        "{\"\xFE\":1}",
        "\"\xE2\x82",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        jspan_t value;
        fault_t fault;
        assert_int_equal(check(texts[i], strlen(texts[i]), &value, &fault),
                         -EBADMSG);
        assert_non_null(strstr(fault.text, "UTF-8"));
    }
}

static void refuses_nul_at_any_place(void **state)
{
    (void) state;
    jspan_t value;
    fault_t fault;
    assert_int_equal(check("\0", 1, &value, &fault), -EBADMSG);
    assert_int_equal(check("1\0", 2, &value, &fault), -EBADMSG);
    assert_int_equal(check("\"a\0b\"", 5, &value, &fault), -EBADMSG);
    assert_int_equal(check("\"\\\0\"", 4, &value, &fault), -EBADMSG);
}

static void says_what_is_wrong_and_where(void **state)
{
    (void) state;
    jspan_t value = {.size = 5};
    fault_t fault;
    assert_int_equal(check("{\"a\":tru}", 9, &value, &fault), -EBADMSG);
    assert_string_equal(fault.text, "a value is expected at byte 5");
    assert_int_equal(value.size, 5);
}

static void bounds_the_depth(void **state)
{
    (void) state;
    char text[2 * JSON_DEPTH_MAX + 2];
    jspan_t value;
    fault_t fault;
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    assert_int_equal(check(text, 2 * JSON_DEPTH_MAX, &value, &fault), 0);
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    assert_int_equal(check(text, sizeof text, &value, &fault), -EBADMSG);
    assert_non_null(strstr(fault.text, "too deeply"));

    size_t size = 1 << 20;
    cleanup_free char *hostile = malloc(size);
    memset(hostile, '[', size);
    assert_int_equal(jspan_check(hostile, size, &value, &fault), -EBADMSG);
}

static void takes_the_last_of_doubled_keys(void **state)
{
    (void) state;
    jspan_t object = checked("{\"a\":1,\"b\":{\"a\":3},\"\\u0061\":2}");
    int64_t a = 0;
    assert_true(jspan_to_integer(jspan_member(object, "a"), &a));
    assert_int_equal(a, 2);
}

static void walks_arrays_and_objects(void **state)
{
    (void) state;
    jspan_t array =
        checked("[1, \"],\\\"\" ,[ ] ,{\"x\":[1,{}]}, null,-2.5e3]");
    static const char *const texts[] = {
        "1", "\"],\\\"\"", "[ ]", "{\"x\":[1,{}]}", "null", "-2.5e3"};
    size_t cursor = 0;
    jspan_t key;
    jspan_t value;
    for (size_t i = 0; i < 6; i++) {
        assert_true(jspan_each(array, &cursor, &key, &value));
        assert_true(jspan_is(key, JSPAN_ABSENT));
        assert_int_equal(value.size, strlen(texts[i]));
        assert_memory_equal(value.text, texts[i], value.size);
    }
    assert_false(jspan_each(array, &cursor, &key, &value));

    jspan_t object = checked("{ \"a\" : true , \"b\":\"\" }");
    cursor = 0;
    assert_true(jspan_each(object, &cursor, &key, &value));
    assert_true(jspan_text_equals(key, "a"));
    assert_true(jspan_is_bool(value));
    assert_true(jspan_each(object, &cursor, NULL, &value));
    assert_true(jspan_text_equals(value, ""));
    assert_false(jspan_each(object, &cursor, NULL, &value));

    cursor = 0;
    assert_false(jspan_each(checked("{ }"), &cursor, &key, &value));
    cursor = 0;
    assert_false(jspan_each(checked("\"x\""), &cursor, &key, &value));
}

static void unescapes_every_escape(void **state)
{
    (void) state;
    jspan_t string =
        checked("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\uD83D\\uDE00\"");
    cleanup_free char *text = jspan_text_new(string);
    assert_string_equal(text,
                        "\"\\/\b\f\n\r\t\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    assert_true(jspan_text_equals(checked("\"\\ud83d\\u0041\""), "\xEF\xBF\xBD"
                                                                 "A"));
    assert_true(jspan_text_equals(checked("\"\\udc00\""), "\xEF\xBF\xBD"));
    cleanup_buffer buffer_t nul = BUFFER_EMPTY;
    jspan_text(checked("\"a\\u0000b\""), &nul);
    assert_int_equal(nul.size, 3);
    assert_memory_equal(nul.data, "a\0b", 4);
    assert_false(jspan_text_equals(checked("\"a\\u0000b\""), "a"));
}

static void a_plain_text_has_no_nul(void **state)
{
    static const char *const others[] = {"\"a\\u0000\"", "\"\\u0000a\"", "7",
                                         "null", "[\"a\"]"};
    cleanup_free char *empty = jspan_plain_new(checked("\"\""));
    cleanup_free char *text = jspan_plain_new(checked("\"a\\u0009\\\\u0000\""));

    (void) state;
    assert_string_equal(empty, "");
    assert_string_equal(text, "a\t\\u0000");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(jspan_plain_new(checked(others[i])));
    assert_null(jspan_plain_new((jspan_t){0}));
}

static void reads_integers_that_fit_only(void **state)
{
    (void) state;
    int64_t value = 5;
    assert_true(jspan_to_integer(checked("9223372036854775807"), &value));
    assert_true(value == INT64_MAX);
    assert_true(jspan_to_integer(checked("-9223372036854775808"), &value));
    assert_true(value == INT64_MIN);
    static const char *const others[] = {"9223372036854775808",
                                         "-9223372036854775809",
                                         "1.0",
                                         "1e2",
                                         "\"1\"",
                                         "true",
                                         "null"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(jspan_to_integer(checked(others[i]), &value));
    assert_true(value == INT64_MIN);
    assert_true(jspan_is_integer(checked("12345678901234567890")));
    assert_false(jspan_is_integer(checked("1E2")));
}

static void reads_reals_that_fit(void **state)
{
    (void) state;
    double value = 0;
    assert_true(jspan_to_real(checked("-2.5e3"), &value));
    assert_true(value == -2500.0);
    assert_false(jspan_to_real(checked("1e999"), &value));
    assert_false(jspan_to_real(checked("\"1\""), &value));
}

static void quotes_so_that_it_reads_the_same(void **state)
{
    (void) state;
    char every[256];
    size_t size = 0;
    for (int c = 0; c < 128; c++)
        every[size++] = (char) c;
    memcpy(every + size, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9);
    size += 9;
    cleanup_buffer buffer_t quoted = BUFFER_EMPTY;
    jspan_quote(&quoted, every, size);
    jspan_t value;
    fault_t fault;
    assert_int_equal(jspan_check(quoted.data, quoted.size, &value, &fault), 0);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    jspan_text(value, &text);
    assert_int_equal(text.size, size);
    assert_memory_equal(text.data, every, size);
}

static void quotes_byte_for_byte(void **state)
{
    (void) state;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    jspan_quote_text(&out, "a\"\\\b\t\n\v\f\r\x1f/");
    assert_string_equal((char *) out.data,
                        "\"a\\\"\\\\\\b\\t\\n\\u000b\\f\\r\\u001f/\"");
    buffer_clear(&out);
    jspan_quote_text(&out, "");
    assert_string_equal((char *) out.data, "\"\"");
}

static void replaces_invalid_utf8_when_quoting(void **state)
{
    (void) state;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    jspan_quote(&out, "a\xFF\xE2\x82z\xC3", 6);
    assert_string_equal((char *) out.data, "\"a\xEF\xBF\xBD\xEF\xBF\xBD"
                                           "\xEF\xBF\xBDz\xEF\xBF\xBD\"");
}

static void knows_a_name(void **state)
{
    (void) state;
    jspan_t names = checked("{\"a\":\"x\",\"b\":\"\",\"c\":\"x\\u0000\","
                            "\"d\":1,\"e\":\"\\u0001\"}");
    assert_true(jspan_is_name(jspan_member(names, "a")));
    assert_false(jspan_is_name(jspan_member(names, "b")));
    assert_false(jspan_is_name(jspan_member(names, "c")));
    assert_false(jspan_is_name(jspan_member(names, "d")));
    assert_true(jspan_is_name(jspan_member(names, "e")));
    assert_false(jspan_is_name(jspan_member(names, "f")));
}

static void null_is_none(void **state)
{
    (void) state;
    jspan_t object = checked("{\"null\":null,\"false\":false,\"\":\"\"}");
    assert_true(jspan_is_none(jspan_member(object, "null")));
    assert_true(jspan_is_none(jspan_member(object, "other")));
    assert_false(jspan_is_none(jspan_member(object, "false")));
    assert_false(jspan_is_none(jspan_member(object, "")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_member_and_reads_it),
        cmocka_unit_test(finds_several_members_in_one_pass),
        cmocka_unit_test(accepts_valid_json),
        cmocka_unit_test(refuses_invalid_structure),
        cmocka_unit_test(refuses_invalid_numbers_and_words),
        cmocka_unit_test(refuses_invalid_strings),
        cmocka_unit_test(finds_halves_of_surrogate_pairs),
        cmocka_unit_test(finds_integers_of_too_many_digits),
        cmocka_unit_test(refuses_invalid_utf8),
        cmocka_unit_test(refuses_nul_at_any_place),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(bounds_the_depth),
        cmocka_unit_test(takes_the_last_of_doubled_keys),
        cmocka_unit_test(walks_arrays_and_objects),
        cmocka_unit_test(unescapes_every_escape),
        cmocka_unit_test(a_plain_text_has_no_nul),
        cmocka_unit_test(knows_a_name),
        cmocka_unit_test(null_is_none),
        cmocka_unit_test(reads_integers_that_fit_only),
        cmocka_unit_test(reads_reals_that_fit),
        cmocka_unit_test(quotes_so_that_it_reads_the_same),
        cmocka_unit_test(quotes_byte_for_byte),
        cmocka_unit_test(replaces_invalid_utf8_when_quoting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
