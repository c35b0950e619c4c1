/* Results of a server of the Model Context Protocol, as the gateway takes
 * them: whole, also where a text has a NUL. */
#include "gateway/cli/mcp/mcp_result.h"

#include "tests/lib/test.h"

#include <string.h>

/* Reads an answer to tools/call; `expected` has `size` bytes. */
static void reads(const char *answer, bool is_result, const char *expected,
                  size_t size)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    jspan_t span;
    fault_t fault;

    assert_int_equal(jspan_check(answer, strlen(answer), &span, &fault), 0);
    assert_int_equal(mcp_result_read(span, &text), is_result);
    assert_int_equal(text.size, size);
    assert_memory_equal(text.data, expected, size);
}

#define READS(answer, is_result, text)                                         \
    reads(answer, is_result, text, sizeof(text) - 1)

static void a_text_is_a_string(void **state)
{
    (void) state;
    READS("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
          "{\"type\":\"text\",\"text\":\"b\"}]}}",
          true, "\"a\\nb\"");
}

static void a_text_with_a_nul_is_whole(void **state)
{
    (void) state;
    READS("{\"result\":{\"content\":[{\"type\":\"text\","
          "\"text\":\"a\\u0000b\"},{\"type\":\"text\",\"text\":\"c\"}]}}",
          true, "\"a\\u0000b\\nc\"");
    READS("{\"result\":{\"content\":[{\"type\":\"text\","
          "\"text\":\"\\u0000\"}]}}",
          true, "\"\\u0000\"");
}

/* It is a sentence for people, and a C string on its way. */
static void a_sentence_with_a_nul_is_whole(void **state)
{
    (void) state;
    READS("{\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\","
          "\"text\":\"no \\u0000 file\"}]}}",
          false, "no \u2400 file");
    READS("{\"error\":{\"code\":1,\"message\":\"\\u0000b\"}}", false,
          "\u2400b");
}

static void a_failure_without_a_sentence(void **state)
{
    (void) state;
    READS("{\"error\":{\"code\":1}}", false,
          "the tool failed and does not say why");
    READS("{\"result\":{\"isError\":true,\"content\":[]}}", false,
          "the tool failed and does not say why");
}

static void other_blocks_stay_as_they_are(void **state)
{
    (void) state;
    READS("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":1}]}}", true,
          "[{\"type\":\"text\",\"text\":1}]");
    READS("{\"result\":{\"content\":[],\"structuredContent\":{\"a\":1}}}", true,
          "{\"a\":1}");
    READS("{\"result\":{}}", false, "the server's answer has no result");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_a_string),
        cmocka_unit_test(a_text_with_a_nul_is_whole),
        cmocka_unit_test(a_sentence_with_a_nul_is_whole),
        cmocka_unit_test(a_failure_without_a_sentence),
        cmocka_unit_test(other_blocks_stay_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
