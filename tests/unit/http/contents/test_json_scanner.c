#include "gateway/http/contents/json_scanner.h"
#include "tests/lib/test.h"

#include "protocol/jspan.h"

#include <string.h>

/* All at once, and cut at each place: the same comes out. */
static bool is_object(const void *bytes, size_t size)
{
    json_scanner_t whole = {0};
    bool is_one;

    json_scanner_json(&whole, bytes, size);
    is_one = json_scanner_is_object(&whole);
    assert_int_equal(whole.size, size);
    for (size_t cut = 0; cut <= size; cut++) {
        json_scanner_t scan = {0};
        json_scanner_json(&scan, bytes, cut);
        json_scanner_json(&scan, (const char *) bytes + cut, size - cut);
        assert_int_equal(json_scanner_is_object(&scan), is_one);
        assert_int_equal(scan.is_no_json, whole.is_no_json);
        if (scan.is_no_json)
            assert_int_equal(scan.at, whole.at);
    }
    return is_one;
}

static bool is_text(const void *bytes, size_t size)
{
    json_scanner_t whole = {0}, slow = {0};

    json_scanner_text(&whole, bytes, size);
    for (size_t i = 0; i < size; i++)
        json_scanner_text(&slow, (const char *) bytes + i, 1);
    assert_int_equal(json_scanner_is_text(&whole), json_scanner_is_text(&slow));
    assert_int_equal(slow.size, size);
    return json_scanner_is_text(&whole);
}

#define IS_TEXT(literal) is_text(literal, sizeof(literal) - 1)

static void knows_an_object(void **state)
{
    static const char *const texts[] = {
        "{}",
        " \t\r\n{ } \n",
        "{\"a\":1}",
        "{\"\":\"\"}",
        "{\"a\":[],\"b\":{},\"c\":[[],{}]}",
        "{\"a\":[0,-0,10,1.5,-1.25e+10,2E-3,0e0,0.0]}",
        "{\"a\":true,\"b\":false,\"c\":null}",
        "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fF\"}",
        "{\"a\":\"\\ud83d\\ude00\"}",
        "{\"\xc3\xa9\":\"\xe2\x82\xac\xf0\x9f\x98\x80\"}",
        "{\"a\":\"\x7f\"}",
        "{\"a\":1,\"a\":2}",
    };
    jspan_t value;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t size = strlen(texts[i]);
        assert_true(is_object(texts[i], size));
        assert_int_equal(jspan_check(texts[i], size, &value, &fault), 0);
    }
}

static unsigned nbformat_of(const char *text)
{
    size_t size = strlen(text);
    json_scanner_t whole = {0};

    json_scanner_json(&whole, text, size);
    for (size_t cut = 0; cut <= size; cut++) {
        json_scanner_t scan = {0};
        json_scanner_json(&scan, text, cut);
        json_scanner_json(&scan, text + cut, size - cut);
        assert_int_equal(scan.nbformat, whole.nbformat);
    }
    return whole.nbformat;
}

static void reads_the_nbformat_version(void **state)
{
    (void) state;
    assert_int_equal(nbformat_of("{\"nbformat\":3}"), 3);
    assert_int_equal(nbformat_of("{\"a\":[{}],\"nbformat\" : 4 ,\"b\":9}"), 4);
    assert_int_equal(nbformat_of("{\"nbformat\":12}"), 12);
    assert_int_equal(nbformat_of("{\"nbformat\":4.5}"), 4);
    assert_int_equal(nbformat_of("{\"nbformat_minor\":5}"), 0);
    assert_int_equal(nbformat_of("{\"xnbformat\":5,\"nbforma\":6}"), 0);
    assert_int_equal(nbformat_of("{\"nbformat\\n\":5}"), 0);
    assert_int_equal(nbformat_of("{\"nbformat\":\"3\"}"), 0);
    assert_int_equal(nbformat_of("{\"nbformat\":[3]}"), 0);
    assert_int_equal(nbformat_of("{\"metadata\":{\"nbformat\":3}}"), 0);
    assert_in_range(nbformat_of("{\"nbformat\":99999999999999999999}"),
                    JSON_SCANNER_NUMBER_MAX, 10 * JSON_SCANNER_NUMBER_MAX + 9);
}

/* Neither parser takes them for an object. */
static void check_all_are_refused(const char *const *texts, size_t count)
{
    jspan_t value = {0};
    fault_t fault;

    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(texts[i]);
        assert_false(is_object(texts[i], size));
        assert_false(jspan_check(texts[i], size, &value, &fault) == 0
                     && jspan_is(value, JSPAN_OBJECT));
    }
}

static void refuses_what_is_no_object(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "[]",
        "\"a\"",
        "1",
        "null",
        "{",
        "}",
        "{]",
        "{}}",
        "{} {}",
        "{},",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{\"a\"::1}",
        "{\"a\":1 \"b\":2}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1}",
        "{\"a\":[1}]",
        "{\"a\":{]}",
        "{\"a\":1}//",
        "\xef\xbb\xbf{}",
        "{\"a\":\f1}",
    };

    (void) state;
    check_all_are_refused(texts, sizeof texts / sizeof *texts);
}

static void refuses_invalid_numbers_and_words(void **state)
{
    static const char *const texts[] = {
        "{\"a\":tru}",   "{\"a\":truE}",     "{\"a\":nulll}", "{\"a\":True}",
        "{\"a\":NaN}",   "{\"a\":Infinity}", "{\"a\":01}",    "{\"a\":-}",
        "{\"a\":-01}",   "{\"a\":+1}",       "{\"a\":.5}",    "{\"a\":1.}",
        "{\"a\":1.e1}",  "{\"a\":1.2.3}",    "{\"a\":1e}",    "{\"a\":1e+}",
        "{\"a\":1e+-1}", "{\"a\":1e1.5}",    "{\"a\":--1}",   "{\"a\":1 2}",
        "{\"a\":0x1}",
    };

    (void) state;
    check_all_are_refused(texts, sizeof texts / sizeof *texts);
}

static void refuses_invalid_strings(void **state)
{
    static const char *const texts[] = {
        "{\"a\":\"",           "{\"a\":\"\\",        "{\"a\":\"\\x41\"}",
        "{\"a\":\"\\u12g4\"}", "{\"a\":\"\\u123\"}", "{\"a\":\"\\U0041\"}",
        "{\"a\":\"\n\"}",      "{\"a\":\"\t\"}",     "{\"\xff\":1}",
    };

    (void) state;
    check_all_are_refused(texts, sizeof texts / sizeof *texts);
}

static void takes_no_zero_byte(void **state)
{
    static const char between[] = "{\0}", within[] = "{\"a\0\":1}",
                      escaped[] = "{\"\\\0\":1}", behind[] = "{}\0";

    (void) state;
    assert_false(is_object(between, sizeof between - 1));
    assert_false(is_object(within, sizeof within - 1));
    assert_false(is_object(escaped, sizeof escaped - 1));
    assert_false(is_object(behind, sizeof behind - 1));
}

static void names_the_place_of_an_error(void **state)
{
    static const char text[] = "{\"a\":1,\n \"b\":x}";
    json_scanner_t scan = {0};

    (void) state;
    json_scanner_json(&scan, text, 9);
    assert_false(scan.is_no_json);
    json_scanner_json(&scan, text + 9, sizeof text - 1 - 9);
    assert_true(scan.is_no_json);
    assert_int_equal(scan.at, 13);
    assert_int_equal(text[scan.at], 'x');
    /* Later bytes do not move it. */
    json_scanner_json(&scan, "}", 1);
    assert_int_equal(scan.at, 13);
}

/* As deep as jspan_check goes, and no further; the memory for it is fixed. */
static void bounds_the_depth(void **state)
{
    static const char *const opening[] = {"[", "{\"a\":"}, *const closing[] = {
                                                               "]", "}"};

    (void) state;
    for (size_t kind = 0; kind < 2; kind++)
        for (size_t depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX + 1;
             depth++) {
            cleanup_buffer buffer_t text = BUFFER_EMPTY;
            jspan_t value;
            fault_t fault;
            buffer_text(&text, "{\"a\":");
            for (size_t i = 1; i < depth; i++)
                buffer_text(&text, opening[kind]);
            buffer_text(&text, "0");
            for (size_t i = 1; i < depth; i++)
                buffer_text(&text, closing[kind]);
            buffer_text(&text, "}");
            assert_int_equal(is_object(text.data, text.size),
                             depth <= JSON_DEPTH_MAX);
            assert_int_equal(jspan_check(text.data, text.size, &value, &fault)
                                 == 0,
                             depth <= JSON_DEPTH_MAX);
        }
}

static void knows_utf8(void **state)
{
    (void) state;
    assert_true(IS_TEXT(""));
    assert_true(IS_TEXT("plain\0\x7f\n"));
    assert_true(IS_TEXT("\xc2\x80\xdf\xbf"));
    assert_true(IS_TEXT("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
    assert_true(IS_TEXT("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
}

static void refuses_invalid_utf8(void **state)
{
    (void) state;
    /* Continuations alone, too many, too few. */
    assert_false(IS_TEXT("\x80"));
    assert_false(IS_TEXT("\xc3\xa9\xa9"));
    assert_false(IS_TEXT("\xc3"));
    assert_false(IS_TEXT("\xe2\x82"));
    assert_false(IS_TEXT("\xf0\x9f\x98"));
    assert_false(IS_TEXT("\xc3"
                         "a"));
    assert_false(IS_TEXT("\xe2\x82"
                         "a"));
    /* Overlong: a slash, a dot, NUL, U+07FF, U+FFFF. */
    assert_false(IS_TEXT("\xc0\xaf"));
    assert_false(IS_TEXT("\xc1\xbf"));
    assert_false(IS_TEXT("\xc0\x80"));
    assert_false(IS_TEXT("\xe0\x80\xae"));
    assert_false(IS_TEXT("\xe0\x9f\xbf"));
    assert_false(IS_TEXT("\xf0\x8f\xbf\xbf"));
    /* Surrogates, and what is past the last character. */
    assert_false(IS_TEXT("\xed\xa0\x80"));
    assert_false(IS_TEXT("\xed\xbf\xbf"));
    assert_false(IS_TEXT("\xf4\x90\x80\x80"));
    assert_false(IS_TEXT("\xf5\x80\x80\x80"));
    assert_false(IS_TEXT("\xfe"));
    assert_false(IS_TEXT("\xff"));
}

/* A broken text stays broken, whatever follows. */
static void stays_failed_after_an_error(void **state)
{
    json_scanner_t scan = {0};

    (void) state;
    json_scanner_text(&scan, "\xff", 1);
    json_scanner_text(&scan, "{}", 2);
    assert_false(json_scanner_is_text(&scan));
    scan = (json_scanner_t){0};
    json_scanner_json(&scan, "[", 1);
    json_scanner_json(&scan, "{}", 2);
    assert_false(json_scanner_is_object(&scan));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_an_object),
        cmocka_unit_test(reads_the_nbformat_version),
        cmocka_unit_test(refuses_what_is_no_object),
        cmocka_unit_test(refuses_invalid_numbers_and_words),
        cmocka_unit_test(refuses_invalid_strings),
        cmocka_unit_test(takes_no_zero_byte),
        cmocka_unit_test(names_the_place_of_an_error),
        cmocka_unit_test(bounds_the_depth),
        cmocka_unit_test(knows_utf8),
        cmocka_unit_test(refuses_invalid_utf8),
        cmocka_unit_test(stays_failed_after_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
