/* Which lines that cannot be read are answers all the same. */
#include "gateway/cli/mcp/mcp_unread.h"
#include "tests/lib/test.h"

#include <string.h>

static int64_t id_of(const char *text)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    int64_t id = 0;

    buffer_text(&line, text);
    return mcp_unread_id(&line, &id) ? id : -1;
}

static void finds_the_id_of_an_answer(void **state)
{
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x\":NaN}}",
        "{\"result\":{\"x\":\"\\ud83d\"},\"jsonrpc\":\"2.0\",\"id\":7}",
        "\t{\"error\" : {\"id\": 5, \"message\": \"\xff\"} , \"id\" : 7 }\r",
        "{\"result\":\"} \\\" \\\\\",\"id\":7}}",
        "{\"result\":[\"]\",{\"method\":1}],,\"id\":7",
        "{\"id\":6,\"jsonrpc\":\"\",\"id\":7",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"cut \\",
    };

    (void) state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(id_of(lines[i]), 7);
}

static void passes_over_what_is_no_answer(void **state)
{
    static const char *const lines[] = {
        "",
        "7",
        "{",
        "}{\"jsonrpc\":\"2.0\",\"id\":7}",
        "[{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":NaN}]",
        "log: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":NaN}",
        "{\"level\":NaN,\"id\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":NaN}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"id\":7,NaN}}",
        "{\"jsonrpc\":\"2.0\",\"result\":{\"id\":7},NaN}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":NaN}",
        "{\"jsonrpc\":\"2.0\",\"id\":7.5,\"result\":NaN}",
        "{\"jsonrpc\":\"2.0\",\"id\":-7,\"result\":NaN}",
        "{\"jsonrpc\":\"2.0\",\"id\":9999999999999999999,\"result\":NaN}",
        "{\"jsonrpc\":\"2.0\",\"id\":",
        "{\"jsonrpc\":\"2.0\",\"x\":\"id\",7}",
        "{\"jsonrpc\":\"2.0\"},\"id\":7}",
        "{\"jsonrpc\":\"2.0\",\"\\",
    };

    (void) state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(id_of(lines[i]), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_id_of_an_answer),
        cmocka_unit_test(passes_over_what_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
