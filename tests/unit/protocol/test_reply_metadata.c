#include "protocol/reply_metadata.h"
#include "tests/lib/checked.h"

#include <string.h>

static void expect(const char *given, const char *wanted)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    bool is_shorter = reply_metadata_shorten(text_bytes(given), &out);
    jspan_t value;
    fault_t fault;

    assert_int_equal(is_shorter, wanted != NULL);
    if (!wanted) {
        assert_int_equal(out.size, 0);
        return;
    }
    assert_int_equal(jspan_check(out.data, out.size, &value, &fault), 0);
    assert_int_equal(out.size, strlen(wanted));
    assert_memory_equal(out.data, wanted, out.size);
}

static void removes_changes_of_variables(void **state)
{
    (void) state;
    expect("{\"started\":\"x\",\"hearth\":{\"cpu_us\":1e400,\"namespace\":"
           "{\"went\":[\"a\"]},\"rss_kib\":2},\"next_count\":3}",
           "{\"started\":\"x\",\"hearth\":{\"cpu_us\":1e400,\"rss_kib\":2},"
           "\"next_count\":3}");
    expect("{\"hearth\":{\"files\":{\"written\":[\"f\"]},\"namespace\":{}}}",
           "{\"hearth\":{}}");
    expect("{\"hearth\":{\"files\":1,\"a\":2}}", "{\"hearth\":{\"a\":2}}");
}

static void leaves_other_members_unchanged(void **state)
{
    (void) state;
    expect("", NULL);
    expect("{}", NULL);
    expect("{\"hearth\":{\"cpu_us\":1}}", NULL);
    expect("not JSON \"namespace\"", NULL);
    expect("[\"namespace\"]", NULL);
    expect("{\"namespace\":{\"a\":1},\"hearth\":[\"files\"]}",
           "{\"namespace\":{\"a\":1},\"hearth\":[\"files\"]}");
    expect("{\"h\\u0065arth\":{\"n\\u0061mespace\":1,\"files\":2}}",
           "{\"h\\u0065arth\":{}}");
}

static void expect_added(const char *given, const char *wanted)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    reply_metadata_add(checked(given), text_bytes("\"cpu_ms\":3"), &out);
    assert_string_equal(out.data, wanted);
    (void) checked((const char *) out.data);
}

static void adds_the_gateways_own(void **state)
{
    (void) state;
    expect_added("", "{\"hearth\":{\"cpu_ms\":3}}");
    expect_added("{ }", "{\"hearth\":{\"cpu_ms\":3}}");
    expect_added("{\"a\":1}", "{\"a\":1,\"hearth\":{\"cpu_ms\":3}}");
    expect_added("{\"hearth\":{},\"b\":2}",
                 "{\"b\":2,\"hearth\":{\"cpu_ms\":3}}");
    expect_added("{\"hearth\":{\"x\":{}}}",
                 "{\"hearth\":{\"x\":{},\"cpu_ms\":3}}");
}

static void a_key_of_the_gateways_own_stands_once(void **state)
{
    (void) state;
    expect_added("{\"hearth\":{\"cpu_ms\":9}}", "{\"hearth\":{\"cpu_ms\":3}}");
    expect_added(
        "{\"hearth\":{\"cpu_ms\":9,\"x\":{\"cpu_ms\":1},\"cpu\\u005fms\":"
        "\"y\"}}",
        "{\"hearth\":{\"x\":{\"cpu_ms\":1},\"cpu_ms\":3}}");
    expect_added("{\"hearth\":7,\"cpu_ms\":9}",
                 "{\"cpu_ms\":9,\"hearth\":{\"cpu_ms\":3}}");
    expect_added("{\"hearth\":{\"x\":1},\"h\\u0065arth\":{\"x\":2}}",
                 "{\"hearth\":{\"x\":2,\"cpu_ms\":3}}");
}

static void names_the_limits_that_a_kernel_reports(void **state)
{
    static const char text[] =
        "{\"limits\":[{\"limit\":\"shm\"}],\"hearth\":{\"limits\":["
        "{\"limit\":\"tmp\",\"used\":3,\"max\":4},{\"limit\":\"tmp\",\"max\":9}"
        ","
        "{\"limit\":\"memory\"},7,{\"limit\":3},{\"limit\":\"file_size\","
        "\"used\":-1,\"max\":1e9},{\"limit\":\"processes\",\"max\":\"x\"}]}}";
    static const char *const none[] = {
        "",
        "{}",
        "\"limits\"",
        "{\"hearth\":{\"limits\":{\"limit\":\"tmp\"}}}",
        "{\"hearth\":[\"limits\"]}",
        "{\"hearth\":{\"limits\":[\"tmp\"]}}"};
    reply_metadata_limit_t found[SESSION_LIMIT_COUNT];

    (void) state;
    assert_int_equal(reply_metadata_limits(checked(text), found), 3);
    assert_string_equal(found[0].name, "tmp");
    assert_int_equal(found[0].used, 3);
    assert_int_equal(found[0].max, 4);
    assert_string_equal(found[1].name, "file_size");
    assert_int_equal(found[1].used, 0);
    assert_int_equal(found[1].max, 0);
    assert_string_equal(found[2].name, "processes");
    assert_int_equal(found[2].max, 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(reply_metadata_limits(checked(none[i]), found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_limits_that_a_kernel_reports),
        cmocka_unit_test(removes_changes_of_variables),
        cmocka_unit_test(leaves_other_members_unchanged),
        cmocka_unit_test(adds_the_gateways_own),
        cmocka_unit_test(a_key_of_the_gateways_own_stands_once),
    };

    return cmocka_run_group_tests_name("figures", tests, NULL, NULL);
}
