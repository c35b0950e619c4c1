/* JSON as Python writes it: what jansson alone would refuse. */
#include "notebooks/json/tree.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "notebooks/json/write.h"
#include "tests/lib/test.h"

#include <string.h>

static void check(const char *text, const char *wanted)
{
    /* The bytes after it must not be read. */
    cleanup_free char *longer = mem_format("%s9\"", text);
    json_auto_t *tree = json_tree_load(longer, strlen(text), NULL);
    if (!tree)
        fail_msg("%s: refused", text);
    cleanup_free char *found =
        json_dumps(tree, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    assert_string_equal(found, wanted);
}

static void takes_every_number(void **state)
{
    char text[512] = "", wanted[sizeof text + 2];

    (void) state;
    check("9223372036854775807", "9223372036854775807");
    check("{\"n\": 9223372036854775808}", "{\"n\":9.2233720368547758e18}");
    check("[1e308, 1e309, -1E+400]", "[1e308,\"1e309\",\"-1E+400\"]");
    check("[1e-9999, 0.5e1]", "[0.0,5.0]");
    check("{\"a\": 1e999, \"b\": [2e999, \"3e999 \\\" 4e999\"]}",
          "{\"a\":\"1e999\",\"b\":[\"2e999\",\"3e999 \\\" 4e999\"]}");
    memset(text, '7', 400);
    snprintf(wanted, sizeof wanted, "\"%s\"", text);
    check(text, wanted);
    text[300] = '\0';
    json_auto_t *tree = json_tree_load(text, 300, NULL);
    assert_true(json_is_real(tree));
}

static void keeps_every_letter(void **state)
{
    json_auto_t *tree = NULL;

    (void) state;
    check("{\"a\": \"x\\u0000y\"}", "{\"a\":\"x\\u0000y\"}");
    tree = json_tree_load("\"x\\u0000y\"", 10, NULL);
    assert_int_equal(json_string_length(tree), 3);
    check("\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\"");
    check("\"\\u0041\\u00e9\\u20AC\"", "\"A\xC3\xA9\xE2\x82\xAC\"");
    check("[\"\\ud83d\",\"\\ude00x\",\"\\ud83d\\n\"]",
          "[\"\xEF\xBF\xBD\",\"\xEF\xBF\xBDx\",\"\xEF\xBF\xBD\\n\"]");
    check("{\"\\u0061b\":\"long enough \xC3\xA9 to be words \\\\ \\\"\"}",
          "{\"ab\":\"long enough \xC3\xA9 to be words \\\\ \\\"\"}");
}

/* Python writes them, and so do nbformat and plotly. */
static void reads_json_written_by_python(void **state)
{
    (void) state;
    check("[NaN, Infinity, -Infinity]", "[\"NaN\",\"Infinity\",\"-Infinity\"]");
    check("\xEF\xBB\xBF{\"a\": 1}", "{\"a\":1}");
    check("{\"a\":1,\"a\":[true,false,null,-0,0.25]}",
          "{\"a\":[true,false,null,0,0.25]}");
}

static void names_the_place_of_invalid_json(void **state)
{
    static const char *const cases[] = {
        "",
        "{",
        "[1e999",
        "\"1e999",
        "[1e999, x]",
        "1e999 2",
        "\"a\x80\"",
        "\"\xED\xA0\x80\"",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "01",
        "1.",
        "nul",
        "-",
        "[1,]",
        "{\"a\"}",
        "{1:1}",
        "[}",
        "{\"\\u0000\":1}",
        "\"a\\",
        "-1e999e",
        "[1e999, \"\\",
        "1e9.99e9",
        "--1e999",
    };
    json_error_t error;

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        error = (json_error_t){0};
        if (json_tree_load(cases[i], strlen(cases[i]), &error))
            fail_msg("%s was read", cases[i]);
        assert_true(error.text[0]);
    }
}

/* As json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) in Python.
 */
static void writes_as_nbformat_does(void **state)
{
    static const char text[] =
        "{\"b\":[],\"a\":{\"z\":[1,-2.5,true,null],\"\\u0001\":{}},"
        "\"c\":\"\\u001b[1m \\\"q\\\" \\\\ \\/ \\b\\f\\n\\r\\t \x7f \xC3\xA9 "
        "and a plain end of it\"}";
    static const char wanted[] =
        "{\n   \"a\": {\n    \"\\u0001\": {},\n    \"z\": [\n     1,\n     "
        "-2.5,\n     true,\n     null\n    ]\n   },\n   \"b\": [],\n   "
        "\"c\": \"\\u001b[1m \\\"q\\\" \\\\ / \\b\\f\\n\\r\\t \x7f \xC3\xA9 "
        "and a plain end of it\"\n  }";
    json_auto_t *tree = json_tree_load(text, sizeof text - 1, NULL);
    json_stream_t stream;
    cleanup_free char *out = NULL;
    size_t size = 0;

    (void) state;
    assert_non_null(tree);
    json_stream_open(&stream, open_memstream(&out, &size));
    json_write(&stream, tree, 2);
    json_stream_flush(&stream);
    fclose(stream.file);
    assert_string_equal(out, wanted);
}

/* Returns what json_write_lines makes of a text. */
static char *lines_of(const char *text, size_t text_size)
{
    json_auto_t *value = json_stringn_nocheck(text, text_size);
    json_stream_t stream;
    char *out = NULL;
    size_t size = 0;

    json_stream_open(&stream, open_memstream(&out, &size));
    json_write_lines(&stream, value, 0);
    json_stream_flush(&stream);
    fclose(stream.file);
    return out;
}

/* The breaks are those of Python's str.splitlines. */
static void writes_a_text_as_its_lines(void **state)
{
    static const char text[] = "a\r\nb\rc\n\n\x0b\x1c\xC2\x85"
                               "d\xE2\x80\xA8\xE2\x80\xA9\xC2\x84\"e";
    cleanup_free char *lines = lines_of(text, sizeof text - 1);
    cleanup_free char *nothing = lines_of("", 0);

    (void) state;
    assert_string_equal(nothing, "[]");
    assert_string_equal(lines,
                        "[\n \"a\\r\\n\",\n \"b\\r\",\n \"c\\n\",\n \"\\n\",\n "
                        "\"\\u000b\",\n \"\\u001c\",\n \"\xC2\x85\",\n "
                        "\"d\xE2\x80\xA8\",\n \"\xE2\x80\xA9\",\n "
                        "\"\xC2\x84\\\"e\"\n]");
}

/* More than the pieces in which it goes to its file, plain or not. */
static void writes_long_texts_in_pieces(void **state)
{
    size_t size = 3 * JSON_STREAM_SIZE + 5;
    cleanup_free char *text = mem_new(size + 1);
    cleanup_free char *plain = NULL, *quotes = NULL;

    (void) state;
    memset(text, 'x', size);
    plain = lines_of(text, size);
    assert_int_equal(strlen(plain), size + strlen("[\n \"\"\n]"));
    assert_memory_equal(plain + 4, text, size);
    memset(text, '"', size);
    quotes = lines_of(text, size);
    assert_int_equal(strlen(quotes), 2 * size + strlen("[\n \"\"\n]"));
}

static void sorts_by_a_text(void **state)
{
    json_auto_t *list =
        json_pack("[{s:s,s:i},{s:s},{s:n,s:i},{s:s,s:i}]", "k", "b", "n", 1,
                  "k", "a", "k", "n", 2, "k", "b2", "n", 3);
    json_auto_t *rising = json_tree_sorted(list, "k", false);
    json_auto_t *falling = json_tree_sorted(list, "k", true);
    static const char wanted[] = "[{\"k\":null,\"n\":2},{\"k\":\"a\"},"
                                 "{\"k\":\"b\",\"n\":1},"
                                 "{\"k\":\"b2\",\"n\":3}]";

    (void) state;
    cleanup_free char *text = json_dumps(rising, JSON_COMPACT);
    assert_string_equal(text, wanted);
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(json_array_get(rising, i),
                         json_array_get(falling, 3 - i));
}

static void finds_by_a_text(void **state)
{
    json_auto_t *list = json_pack("[{s:s,s:i},{s:s},{s:n},{s:s,s:i}]", "k", "b",
                                  "n", 1, "j", "a", "k", "k", "b", "n", 2);

    (void) state;
    assert_ptr_equal(json_tree_find(list, "k", "b"), json_array_get(list, 0));
    assert_ptr_equal(json_tree_find(list, "k", ""), json_array_get(list, 1));
    assert_null(json_tree_find(list, "k", "a"));
    assert_null(json_tree_find(NULL, "k", ""));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_number),
        cmocka_unit_test(keeps_every_letter),
        cmocka_unit_test(reads_json_written_by_python),
        cmocka_unit_test(names_the_place_of_invalid_json),
        cmocka_unit_test(writes_as_nbformat_does),
        cmocka_unit_test(writes_a_text_as_its_lines),
        cmocka_unit_test(writes_long_texts_in_pieces),
        cmocka_unit_test(sorts_by_a_text),
        cmocka_unit_test(finds_by_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
