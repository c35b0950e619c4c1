/* JSON text is written a value at a time, with a comma wherever one is due. */
#include "protocol/jspan_write.h"

#include "protocol/jspan.h"
#include "protocol/message.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <string.h>

static void is(const buffer_t *out, const char *text)
{
    jspan_t whole;
    fault_t fault;

    assert_int_equal(out->size, strlen(text));
    assert_memory_equal(out->data, text, out->size);
    assert_int_equal(jspan_check(out->data, out->size, &whole, &fault), 0);
}

static void writes_members_of_each_kind(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    jspan_write_begin(&out);
    jspan_write_text(&out, "text", "a \"b\"\n");
    jspan_write_bytes(&out, "bytes", (bytes_t){"xyz", 2});
    jspan_write_integer(&out, "least", INT64_MIN);
    jspan_write_count(&out, "most", UINT64_MAX);
    jspan_write_bool(&out, "yes", true);
    jspan_write_bool(&out, "no", false);
    jspan_write_raw(&out, "raw", text_bytes("null"));
    jspan_write_raw(&out, "nothing", (bytes_t){0});
    jspan_write_text(&out, "", "");
    jspan_write_bytes(&out, "none", (bytes_t){NULL, 0});
    jspan_write_end(&out);
    is(&out, "{\"text\":\"a \\\"b\\\"\\n\",\"bytes\":\"xy\","
             "\"least\":-9223372036854775808,"
             "\"most\":18446744073709551615,\"yes\":true,\"no\":false,"
             "\"raw\":null,\"nothing\":{},\"\":\"\",\"none\":\"\"}");
}

/* Every control character has an escape, five of them a short one. */
static void quotes_what_json_does_not_take_as_it_is(void **state)
{
    static const struct {
        const char *text, *quoted;
    } cases[] = {
        {"", "\"\""},
        {"\"\\", "\"\\\"\\\\\""},
        {"\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\""},
        {"\x01\x07\x0b\x0e\x1f \x7f",
         "\"\\u0001\\u0007\\u000b\\u000e\\u001f \x7f\""},
        {"\xc2\x80 \xe2\x82\xac", "\"\xc2\x80 \xe2\x82\xac\""},
        {"a\x80z", "\"a\xef\xbf\xbdz\""},
        {"\xff", "\"\xef\xbf\xbd\""},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer buffer_t out = BUFFER_EMPTY;

        jspan_quote_text(&out, cases[i].text);
        is(&out, cases[i].quoted);
    }
}

static void nests_objects_and_arrays(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    jspan_write_begin(&out);
    jspan_write_array(&out, "pairs");
    for (int i = 0; i < 2; i++) {
        jspan_write_array(&out, NULL);
        jspan_write_integer(&out, NULL, i);
        jspan_write_integer(&out, NULL, -i);
        jspan_write_end_array(&out);
    }
    jspan_write_object(&out, NULL);
    jspan_write_end(&out);
    jspan_write_end_array(&out);
    jspan_write_object(&out, "inner");
    jspan_write_array(&out, "none");
    jspan_write_end_array(&out);
    jspan_write_end(&out);
    jspan_write_end(&out);
    is(&out, "{\"pairs\":[[0,0],[1,-1],{}],\"inner\":{\"none\":[]}}");
}

static void writes_a_string_in_pieces(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    jspan_write_begin(&out);
    jspan_write_bool(&out, "a", true);
    jspan_write_open_text(&out, "text");
    buffer_text(&out, "one\\n");
    buffer_text(&out, "two");
    jspan_write_end_text(&out);
    jspan_write_key(&out, "key");
    buffer_text(&out, "1.5");
    jspan_write_array(&out, "empty");
    jspan_write_open_text(&out, NULL);
    jspan_write_end_text(&out);
    jspan_write_open_text(&out, NULL);
    jspan_write_end_text(&out);
    jspan_write_end_array(&out);
    jspan_write_end(&out);
    is(&out, "{\"a\":true,\"text\":\"one\\ntwo\",\"key\":1.5,"
             "\"empty\":[\"\",\"\"]}");
}

/* A peer's JSON may have white space after its last character. */
static void separates_values_that_end_with_white_space(void **state)
{
    static const char *const values[] = {
        "{} ", "[]\n", "1\t", "10", "9", "false", "true", "\"\"\r\n", "null  "};

    (void) state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cleanup_buffer buffer_t out = BUFFER_EMPTY;
        cleanup_free char *text = mem_format("{ \"a\":%s,\"b\":1}", values[i]);

        buffer_text(&out, "{ "); /* nothing is separated from this one */
        jspan_write_raw(&out, "a", text_bytes(values[i]));
        jspan_write_integer(&out, "b", 1);
        jspan_write_end(&out);
        is(&out, text);
    }
}

static void appends_to_a_used_buffer(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    jspan_write_begin(&out);
    jspan_write_end(&out);
    jspan_write_begin(&out);
    jspan_write_end(&out);
    assert_memory_equal(out.data, "{}{}", 4);
    buffer_clear(&out);
    jspan_write_text(&out, "member", "alone");
    assert_memory_equal(out.data, "\"member\":\"alone\"", out.size);
}

static void writes_the_contents_of_messages(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    message_write_status(&out, "busy");
    is(&out, "{\"execution_state\":\"busy\"}");
    buffer_clear(&out);
    message_write_stream(&out, "stderr", "[a \"remark\"]\n");
    is(&out, "{\"name\":\"stderr\",\"text\":\"[a \\\"remark\\\"]\\n\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_members_of_each_kind),
        cmocka_unit_test(quotes_what_json_does_not_take_as_it_is),
        cmocka_unit_test(nests_objects_and_arrays),
        cmocka_unit_test(writes_a_string_in_pieces),
        cmocka_unit_test(separates_values_that_end_with_white_space),
        cmocka_unit_test(appends_to_a_used_buffer),
        cmocka_unit_test(writes_the_contents_of_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
