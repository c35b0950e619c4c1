#include "gateway/session/tools/tool_recording.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static tool_recording_t *read_answers(const char *answers)
{
    cleanup_free char *json =
        mem_format("{\"tools\":[{\"name\":\"t\"}],\"answers\":[%s]}", answers);
    tool_recording_t *self = NULL;
    fault_t fault;

    assert_int_equal(tool_recording_read(text_bytes(json), &self, &fault), 0);
    return self;
}

/* Returns the answer's text; "" without one. */
static char *take(tool_recording_t *self, const char *name,
                  const char *arguments)
{
    jspan_t result, error;

    if (!tool_recording_take(self, name, text_bytes(arguments), &result,
                             &error))
        return mem_text("");
    return jspan_is(result, JSPAN_ABSENT) ? mem_copy(error.text, error.size)
                                          : mem_copy(result.text, result.size);
}

static void takes(tool_recording_t *self, const char *name,
                  const char *arguments, const char *wanted)
{
    cleanup_free char *answer = take(self, name, arguments);

    assert_string_equal(answer, wanted);
}

static void answers_equal_calls_in_their_order(void **state)
{
    cleanup_tool_recording tool_recording_t *self = read_answers(
        "{\"name\":\"t\",\"arguments\":{\"a\":1},\"result\":\"first\"},"
        "{\"name\":\"t\",\"arguments\":{\"a\":1},\"result\":"
        "12345678901234567890123},"
        "{\"name\":\"t\",\"arguments\":{\"a\":0.10000000000000001,\"b\":[]},"
        "\"error\":{\"reason\":\"r\"}}");

    (void) state;
    assert_true(tool_offer_has(tool_recording_offer(self), "t"));
    takes(self, "t", "{\"b\":[], \"a\":0.1}", "{\"reason\":\"r\"}");
    takes(self, "u", "{\"a\":1}", "");
    takes(self, "t", "{\"a\":2}", "");
    takes(self, "t", "{\"a\":1.0}", "\"first\"");
    takes(self, "t", "{\"a\":1}", "12345678901234567890123");
    takes(self, "t", "{\"a\":1}", "");
}

static void knows_what_is_there(void **state)
{
    cleanup_tool_recording tool_recording_t *self = read_answers(
        "{\"name\":\"t\",\"arguments\":{},\"result\":1,\"there\":true},"
        "{\"name\":\"t\",\"arguments\":{},\"result\":2,\"there\":1}");

    (void) state;
    assert_false(tool_recording_is_there(self, "u", text_bytes("{}")));
    assert_true(tool_recording_is_there(self, "t", text_bytes("{}")));
    takes(self, "t", "{}", "1");
    assert_false(tool_recording_is_there(self, "t", text_bytes("{}")));
}

static void says_what_is_wrong(void **state)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{\"tools\":[]}",
        "{\"tools\":[{}],\"answers\":[]}",
        "{\"tools\":[],\"answers\":[1]}",
        "{\"tools\":[],\"answers\":[{\"arguments\":{},\"result\":1}]}",
        "{\"tools\":[],\"answers\":[{\"name\":\"t\",\"result\":1}]}",
        "{\"tools\":[],\"answers\":[{\"name\":\"t\",\"arguments\":{}}]}",
        ("{\"tools\":[],\"answers\":[{\"name\":\"t\",\"arguments\":{},"
         "\"result\":1,\"error\":{}}]}"),
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tool_recording_t *self = NULL;
        fault_t fault;

        assert_int_equal(
            tool_recording_read(text_bytes(wrong[i]), &self, &fault), -EINVAL);
        assert_null(self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_equal_calls_in_their_order),
        cmocka_unit_test(knows_what_is_there),
        cmocka_unit_test(says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
