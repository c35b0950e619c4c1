#include "gateway/http/contents/model_decoder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static int read_all(model_decoder_kind_t kind, const char *text, size_t size,
                    buffer_t *out)
{
    model_decoder_t content = {.kind = kind};
    fault_t fault = {0};
    int r;

    assert_int_equal(jspan_check(text, size, &content.span, &fault), 0);
    while ((r = model_decoder_next(&content, out, &fault)) > 0)
        assert_true(out->size > 0);
    if (r < 0)
        assert_true(fault.text[0] != '\0');
    return r;
}

/* Asserts that `json`, with its quotes, decodes to `size` bytes. */
static void assert_bytes(model_decoder_kind_t kind, const char *json,
                         const char *bytes, size_t size)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    assert_int_equal(read_all(kind, json, strlen(json), &out), 0);
    assert_int_equal(out.size, size);
    if (size)
        assert_memory_equal(out.data, bytes, size);
}

#define ASSERT_TEXT(json, bytes)                                               \
    assert_bytes(MODEL_DECODER_TEXT, json, bytes, sizeof(bytes) - 1)
#define ASSERT_BASE64(json, bytes)                                             \
    assert_bytes(MODEL_DECODER_BASE64, json, bytes, sizeof(bytes) - 1)

static void assert_refused(model_decoder_kind_t kind, const char *json)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    assert_int_equal(read_all(kind, json, strlen(json), &out), -EINVAL);
}

static void unescapes_text(void **state)
{
    (void) state;
    ASSERT_TEXT("\"\"", "");
    ASSERT_TEXT("\"plain\"", "plain");
    ASSERT_TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    ASSERT_TEXT("\"\\\\n\"", "\\n");
    ASSERT_TEXT("\"a\\u0000b\"", "a\0b");
    ASSERT_TEXT("\"\\u0041\\u00e9\\u20AC\\ud7ff\\ue000\\uFFFF\"",
                "A\xc3\xa9\xe2\x82\xac\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
    ASSERT_TEXT("\"\\u007f\\u0080\\u07ff\\u0800\"",
                "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80");
    ASSERT_TEXT("\"\\uD83D\\uDE00\\udbff\\udfff\\ud800\\udc00\"",
                "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xf0\x90\x80\x80");
    ASSERT_TEXT("\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80");
}

static void refuses_half_of_a_pair(void **state)
{
    static const char *const texts[] = {
        "\"\\ud83d\"",         "\"\\ude00\"",          "\"\\ud83d\\n\"",
        "\"\\ud83dx\"",        "\"\\ud83d\\u0041\"",   "\"\\ud83d\\ud83d\"",
        "\"\\ude00\\ud83d\"",  "\"\\ud83d\\\\ude00\"", "\"\\ud83dude00xx\"",
        "\"\\ud83d\\ue000\"",  "\"\\ud83d\\udbff\"",   "\"\\ude00\\ude00\"",
        "\"\\udbff \\udfff\"",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        model_decoder_t content = {.kind = MODEL_DECODER_TEXT};
        cleanup_buffer buffer_t out = BUFFER_EMPTY;
        fault_t fault;
        /* Valid JSON or not: no byte after its end is read. */
        content.span = (jspan_t){
            .text = texts[i], .size = strlen(texts[i]), .kind = JSPAN_STRING};
        assert_int_equal(model_decoder_next(&content, &out, &fault), -EINVAL);
    }
}

static void decodes_base64(void **state)
{
    (void) state;
    ASSERT_BASE64("\"\"", "");
    ASSERT_BASE64("\"Zg==\"", "f");
    ASSERT_BASE64("\"Zm8=\"", "fo");
    ASSERT_BASE64("\"Zm9v\"", "foo");
    ASSERT_BASE64("\"Zm9vYmFy\"", "foobar");
    ASSERT_BASE64("\"AAAA\"", "\0\0\0");
    ASSERT_BASE64("\"+/+/\"", "\xfb\xff\xbf");
    ASSERT_BASE64("\"+\\/+\\/\"", "\xfb\xff\xbf");
    /* As Python's encodebytes breaks lines, and as others do. */
    ASSERT_BASE64("\"Zm9v\\nYmFy\\n\"", "foobar");
    ASSERT_BASE64("\"Zm\\r\\n9v\\t YmFy\"", "foobar");
    ASSERT_BASE64("\"Zg=\\n=\\n\"", "f");
}

static void refuses_invalid_base64(void **state)
{
    static const char *const texts[] = {
        "\"Z\"",           "\"Zg\"",
        "\"Zg=\"",         "\"Zm8\"",
        "\"=\"",           "\"====\"",
        "\"Z===\"",        "\"Zg==Zg==\"",
        "\"Zm8=Z\"",       "\"Zg===\"",
        "\"Zg=g\"",        "\"Zm9v=\"",
        "\"Zm9*\"",        "\"Zm9-\"",
        "\"Zm9_\"",        "\"Zm9v,\"",
        "\"Zm9\\\\\"",     "\"Zm9\\u0076\"",
        "\"Zm9\\b\"",      "\"Zm9\\\"\"",
        "\"Zm9\xc3\xa9\"", "\"\xef\xbb\xbfZm9v\"",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_refused(MODEL_DECODER_BASE64, texts[i]);
}

static void writes_a_notebook_with_a_line_for_each_value(void **state)
{
    static const char json[] =
        "{\"cells\":[{\"id\":\"a\",\"source\":[\"x,:{[\",\"\\\"}\\\\\"],"
        "\"metadata\":{ },\"outputs\":[ ]}] ,\n\"nbformat\" : 4}",
                      expected[] = "{\n"
                                   " \"cells\": [\n"
                                   "  {\n"
                                   "   \"id\": \"a\",\n"
                                   "   \"source\": [\n"
                                   "    \"x,:{[\",\n"
                                   "    \"\\\"}\\\\\"\n"
                                   "   ],\n"
                                   "   \"metadata\": {},\n"
                                   "   \"outputs\": []\n"
                                   "  }\n"
                                   " ],\n"
                                   " \"nbformat\": 4\n"
                                   "}\n";

    (void) state;
    assert_bytes(MODEL_DECODER_NOTEBOOK, json, expected, sizeof expected - 1);
    /* It is written already: nothing changes. */
    assert_bytes(MODEL_DECODER_NOTEBOOK, expected, expected,
                 sizeof expected - 1);
    assert_bytes(MODEL_DECODER_NOTEBOOK, "{}", "{}\n", 3);
}

/* `unit` until it is longer than a piece, moved by `shift` bytes against the
 * place where pieces are cut. */
static void repeat(buffer_t *out, size_t shift, const char *unit)
{
    buffer_clear(out);
    buffer_text(out, "\"");
    for (size_t i = 0; i < shift; i++)
        buffer_text(out, " ");
    while (out->size < 8 * (size_t) MODEL_DECODER_PIECE)
        buffer_text(out, unit);
    buffer_text(out, "\"");
}

/* A longer text is decoded in pieces. None of them is much longer than one
 * piece, and a cut at any place loses nothing. */
static void is_decoded_from_pieces(void **state)
{
    static const struct {
        model_decoder_kind_t kind;
        const char *unit;
    } cases[] = {
        {MODEL_DECODER_TEXT, "\\ud83d\\ude00"},
        {MODEL_DECODER_TEXT, "\xe2\x82\xac\\n"},
        {MODEL_DECODER_BASE64, "Zm9v"},
        {MODEL_DECODER_BASE64, "Zm\\n9v\\r\\n"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t shift = 0; shift < 4; shift++) {
            cleanup_buffer buffer_t json = BUFFER_EMPTY, out = BUFFER_EMPTY,
                                    all = BUFFER_EMPTY, whole = BUFFER_EMPTY;
            model_decoder_t content = {.kind = cases[i].kind};
            unsigned pieces = 0;
            fault_t fault;
            int r = 1;
            repeat(&json, shift, cases[i].unit);
            assert_int_equal(
                jspan_check(json.data, json.size, &content.span, &fault), 0);
            for (; r > 0; pieces++) {
                buffer_clear(&out);
                r = model_decoder_next(&content, &out, &fault);
                assert_true(r >= 0);
                assert_true(out.size < 2 * (size_t) MODEL_DECODER_PIECE);
                buffer_append(&all, out.data, out.size);
            }
            assert_true(pieces > 1);
            if (cases[i].kind == MODEL_DECODER_TEXT)
                jspan_text(content.span, &whole);
            else
                for (size_t at = 0; at < all.size; at += 3)
                    buffer_text(&whole, "foo");
            assert_int_equal(all.size, whole.size);
            assert_memory_equal(all.data, whole.data, all.size);
        }
}

/* A string of a notebook is copied as it is, escapes and all. */
static void cuts_a_long_string_of_a_notebook(void **state)
{
    (void) state;
    for (size_t shift = 0; shift < 4; shift++) {
        cleanup_buffer buffer_t string = BUFFER_EMPTY, json = BUFFER_EMPTY,
                                expected = BUFFER_EMPTY, out = BUFFER_EMPTY;
        repeat(&string, 0, "\\\\\\\"");
        buffer_text(&json, "{\"");
        buffer_text(&expected, "{\n \"");
        for (size_t i = 0; i < shift; i++) {
            buffer_text(&json, "k");
            buffer_text(&expected, "k");
        }
        buffer_text(&json, "\":");
        buffer_append(&json, string.data, string.size);
        buffer_text(&json, "}");
        buffer_text(&expected, "\": ");
        buffer_append(&expected, string.data, string.size);
        buffer_text(&expected, "\n}\n");
        model_decoder_t content = {.kind = MODEL_DECODER_NOTEBOOK};
        fault_t fault;
        size_t before = 0;
        assert_int_equal(
            jspan_check(json.data, json.size, &content.span, &fault), 0);
        for (; model_decoder_next(&content, &out, &fault) > 0;
             before = out.size)
            assert_true(out.size - before < 2 * (size_t) MODEL_DECODER_PIECE);
        assert_int_equal(out.size, expected.size);
        assert_memory_equal(out.data, expected.data, out.size);
    }
}

static void has_no_content_if_the_model_has_none(void **state)
{
    model_decoder_t content = {.kind = MODEL_DECODER_NOTHING};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault;

    (void) state;
    assert_int_equal(model_decoder_next(&content, &out, &fault), 0);
    assert_int_equal(out.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unescapes_text),
        cmocka_unit_test(refuses_half_of_a_pair),
        cmocka_unit_test(decodes_base64),
        cmocka_unit_test(refuses_invalid_base64),
        cmocka_unit_test(writes_a_notebook_with_a_line_for_each_value),
        cmocka_unit_test(is_decoded_from_pieces),
        cmocka_unit_test(cuts_a_long_string_of_a_notebook),
        cmocka_unit_test(has_no_content_if_the_model_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
