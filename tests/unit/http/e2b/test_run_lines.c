/* A run as E2B's clients read it: which records become which lines, and the
 * variables around it. */
#include "gateway/http/e2b/metadata_query.h"
#include "gateway/http/e2b/run_lines.h"
#include "gateway/http/e2b/run_variables.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static journal_record_t record(journal_kind_t kind, const char *type,
                               const char *content)
{
    journal_record_t made = {.kind = kind, .content = text_bytes(content)};

    snprintf(made.type, sizeof made.type, "%s", type);
    return made;
}

/* Checks what a record becomes. */
static void check(run_lines_t *lines, journal_record_t made, const char *wanted)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    run_lines_add(lines, &made, &out);
    buffer_append(&out, "", 1);
    assert_string_equal(out.data, wanted);
}

#define EVENT(type, content) record(JOURNAL_EVENT, type, content)
#define REPLY(content)       record(JOURNAL_REPLY, "execute_reply", content)
#define ISO                  "\"timestamp\":\"1970-01-01T00:00:00.000000Z\"}\n"
#define END                  "{\"type\":\"end_of_execution\"}\n"

static void writes_a_line_for_each_output(void **state)
{
    run_lines_t lines = {0};

    (void) state;
    check(&lines, EVENT("execute_input", "{\"execution_count\":3}"),
          "{\"type\":\"number_of_executions\",\"execution_count\":3}\n");
    check(&lines, EVENT("stream", "{\"name\":\"stdout\",\"text\":\"a\\n\"}"),
          "{\"type\":\"stdout\",\"text\":\"a\\n\"," ISO);
    check(&lines, EVENT("stream", "{\"name\":\"stderr\",\"text\":\"\\u00e9\"}"),
          "{\"type\":\"stderr\",\"text\":\"\\u00E9\"," ISO);
    check(&lines,
          EVENT("execute_result", "{\"data\":{\"text/plain\":\"'a'\"}}"),
          "{\"type\":\"result\",\"text\":\"a\",\"extra\":{},"
          "\"is_main_result\":true}\n");
    check(&lines, EVENT("display_data", "{\"data\":{\"a/b\":[1]}}"),
          "{\"type\":\"result\",\"extra\":{\"a/b\":[1]},"
          "\"is_main_result\":false}\n");
    check(&lines, EVENT("status", "{\"execution_state\":\"idle\"}"), "");
    check(&lines, EVENT("clear_output", "{}"), "");
    check(&lines, REPLY("{\"status\":\"ok\"}"), END);
    check(&lines, EVENT("stream", "{\"name\":\"stdout\",\"text\":\"late\"}"),
          "");
    assert_true(lines.is_over);
}

static void writes_one_error(void **state)
{
    static const char error[] =
        "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\",\"b\"]}";
    static const char reply[] =
        "{\"status\":\"error\",\"ename\":\"KernelDied\","
        "\"evalue\":\"why\"}";
    run_lines_t shown = {0}, died = {0};

    (void) state;
    check(&shown, EVENT("error", error),
          "{\"type\":\"error\",\"name\":\"E\",\"value\":\"v\","
          "\"traceback\":\"a\\nb\"}\n");
    check(&shown, REPLY(reply), END);
    check(&died, REPLY(reply),
          "{\"type\":\"error\",\"name\":\"KernelDied\",\"value\":\"why\","
          "\"traceback\":\"\"}\n" END);
}

static void unquotes_texts_alone(void **state)
{
    static const char *const texts[][2] = {
        {"\"'a'\"", "\"a\""},   {"\"\\\"a\\\"\"", "\"a\""},
        {"\"'a\"", "\"'a\""},   {"\"''\"", "\"\""},
        {"\"'\"", "\"'\""},     {"\"\"", "\"\""},
        {"\"[1]\"", "\"[1]\""}, {"7", "7"},
        {"[\"'\"]", "[\"'\"]"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        run_lines_t lines = {0};
        cleanup_free char *content =
            mem_format("{\"data\":{\"text/plain\":%s}}", texts[i][0]);
        cleanup_free char *wanted =
            mem_format("{\"type\":\"result\",\"text\":%s,\"extra\":{},"
                       "\"is_main_result\":true}\n",
                       texts[i][1]);
        check(&lines, EVENT("execute_result", content), wanted);
    }
}

static void takes_what_is_no_output(void **state)
{
    static const char *const contents[] = {"",
                                           "{",
                                           "[]",
                                           "7",
                                           "{}",
                                           "{\"data\":7}",
                                           "{\"data\":[1]}",
                                           "{\"text\":7,\"name\":7}",
                                           "{\"traceback\":[7,null,{}]}",
                                           "{\"execution_count\":\"x\"}"};
    static const char *const types[] = {"execute_input",  "stream",
                                        "execute_result", "display_data",
                                        "error",          ""};

    (void) state;
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            run_lines_t lines = {0};
            cleanup_buffer buffer_t out = BUFFER_EMPTY;
            journal_record_t event = EVENT(types[k], contents[i]);
            journal_record_t reply = REPLY(contents[i]);
            run_lines_add(&lines, &event, &out);
            run_lines_add(&lines, &reply, &out);
            assert_true(lines.is_over);
            assert_true(lines.has_error);
        }
}

static void sets_variables_and_takes_them_away(void **state)
{
    json_auto_t *all = json_pack("{s:s}", "A", "1");
    json_auto_t *one = json_pack("{s:s,s:s}", "A", "2", "B", "\xc3\xa9\"");
    json_auto_t *none = json_object();
    cleanup_free char *before = run_variables_before(all, one);
    cleanup_free char *after = run_variables_after(all, one);

    (void) state;
    assert_string_equal(before, "__import__('os').environ.update("
                                "{\"A\":\"2\",\"B\":\"\xc3\xa9\\\"\"})");
    assert_string_equal(
        after,
        "[__import__('os').environ.pop(name, None) for name in "
        "[\"A\",\"B\"]]\n__import__('os').environ.update({\"A\":\"1\"})");
    assert_null(run_variables_before(NULL, none));
    assert_null(run_variables_before(NULL, NULL));
    assert_null(run_variables_after(all, NULL));
}

static void matches_metadata(void **state)
{
    static const struct {
        const char *query;
        bool matches;
    } queries[] = {
        {NULL, true},           {"", true},          {"&", true},
        {"a=b c", true},        {"a=b+c", true},     {"a=b%20c", true},
        {"a=b%2520c", true},    {"%61=b%20c", true}, {"a=b%20c&n=1", true},
        {"a=b%20c&n=2", false}, {"a", false},        {"=", false},
        {"a=", false},          {"a=b%20c=", false}, {"x=1", false},
        {"n=%00", false},       {"n=1%", false},     {"n=1%0", false},
    };
    json_auto_t *metadata = json_pack("{s:s,s:s}", "a", "b c", "n", "1");

    (void) state;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_true(metadata_query_matches(queries[i].query, metadata)
                    == queries[i].matches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_a_line_for_each_output),
        cmocka_unit_test(writes_one_error),
        cmocka_unit_test(unquotes_texts_alone),
        cmocka_unit_test(takes_what_is_no_output),
        cmocka_unit_test(sets_variables_and_takes_them_away),
        cmocka_unit_test(matches_metadata),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
