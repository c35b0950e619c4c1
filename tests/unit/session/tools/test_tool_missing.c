/* What a cell does not get although it was recorded goes with its reply. */
#include "gateway/session/tools/tool_missing.h"
#include "tests/lib/test.h"

#include "base/cleanup.h"

#include <string.h>

#define OK     "{\"status\":\"ok\"}"
#define FAILED "{\"status\":\"error\",\"evalue\":\"another \\\"file\\\"\"}"

static void note(buffer_t *missing, const char *recorded, const char *result)
{
    tool_missing_note(missing, text_bytes(recorded), text_bytes(result));
}

static void only_a_new_failure_is_noted(void **state)
{
    static const char *const pairs[][2] = {{OK, OK},      {FAILED, FAILED},
                                           {FAILED, OK},  {OK, "{}"},
                                           {"7", FAILED}, {"{", FAILED}};
    cleanup_buffer buffer_t missing = BUFFER_EMPTY;

    (void) state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        note(&missing, pairs[i][0], pairs[i][1]);
    tool_missing_note(&missing, text_bytes(OK), (bytes_t){0});
    assert_int_equal(missing.size, 0);
    note(&missing, OK, FAILED);
    assert_true(missing.size > 0);
}

static void it_goes_with_the_reply(void **state)
{
    cleanup_buffer buffer_t missing = BUFFER_EMPTY, members = BUFFER_EMPTY;

    (void) state;
    buffer_text(&members, "\"cpu_ms\":3");
    tool_missing_write(&missing, &members);
    assert_string_equal(members.data, "\"cpu_ms\":3");
    note(&missing, OK, FAILED);
    note(&missing, OK, "{\"evalue\":\"x\"}");
    tool_missing_write(&missing, &members);
    assert_string_equal(members.data, "\"cpu_ms\":3,\"missing\":["
                                      "\"another \\\"file\\\"\",\"x\"]");
    /* Also if the reply comes once more: the journal did not take it. */
    buffer_clear(&members);
    tool_missing_write(&missing, &members);
    assert_true(members.size > 0);
}

static void it_is_bounded(void **state)
{
    cleanup_buffer buffer_t missing = BUFFER_EMPTY;

    (void) state;
    for (int i = 0; i < 2000; i++)
        note(&missing, OK, FAILED);
    assert_in_range(missing.size, TOOL_MISSING_MAX - 100, TOOL_MISSING_MAX);
}

/* The last one that has room takes the last byte. */
static void it_is_bounded_to_the_byte(void **state)
{
    cleanup_buffer buffer_t missing = BUFFER_EMPTY;
    char why[TOOL_MISSING_MAX] = {0};
    cleanup_free char *fits = NULL, *one_more = NULL;

    (void) state;
    memset(why, 'x', TOOL_MISSING_MAX - strlen("\"\""));
    fits = mem_format("{\"evalue\":\"%s\"}", why);
    one_more = mem_format("{\"evalue\":\"%sx\"}", why);
    note(&missing, OK, one_more);
    assert_int_equal(missing.size, 0);
    note(&missing, OK, fits);
    assert_int_equal(missing.size, TOOL_MISSING_MAX);
    note(&missing, OK, "{\"evalue\":\"\"}");
    assert_int_equal(missing.size, TOOL_MISSING_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_new_failure_is_noted),
        cmocka_unit_test(it_goes_with_the_reply),
        cmocka_unit_test(it_is_bounded),
        cmocka_unit_test(it_is_bounded_to_the_byte),
    };

    return cmocka_run_group_tests_name("tool_missing", tests, NULL, NULL);
}
