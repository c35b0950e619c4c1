/* Each way in which a session can have less than its profile, and what is
 * refused on it. */
#include "tests/lib/test.h"

#include "gateway/config/lowered_value.h"

#include <errno.h>
#include <string.h>

static char name[] = "small", index_url[] = "https://a.example/simple/";
static char denied[] = "bad";
static char *deny[] = {denied, NULL}, *none[] = {NULL};
static profile_t profile = {
    .name = name,
    .limits = {.processes = 100, .memory = 1 << 30},
    .packages = {.index = index_url,
                 .allow = none,
                 .deny = deny,
                 .cooldown_ms = 7 * 86400 * 1000,
                 .serves_cells = true},
    .fetch = {.allow = deny, .deny = none},
};

typedef struct {
    const char *key, *asked; /* JSON */
    const char *has;         /* JSON in one form; or the sentence's end */
} case_t;

static int read_of(const case_t *one, profile_t *view, json_t **ret_value,
                   fault_t *fault)
{
    json_auto_t *asked =
        json_loads(one->asked, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    assert_non_null(asked);
    *view = profile;
    *ret_value = NULL;
    return lowered_value_read(&profile, one->key, asked, view, ret_value,
                              fault);
}

static void each_way_has_one_form(void **state)
{
    static const case_t cases[] = {
        {"limits/processes", "64", "64"},
        {"limits/processes", "\"100\"", "100"},
        {"limits/memory", "\"512M\"", "536870912"},
        {"limits/cpu_seconds", "60", "60"}, /* the profile has no limit */
        {"packages/index", "\"\"", "\"\""},
        {"packages/allow", "\"a, b*\"", "[\"a\",\"b*\"]"},
        {"packages/deny", "[\"a\"]", "[\"a\"]"},
        {"packages/cooldown", "\"7d\"", "604800"},
        {"packages/cooldown", "\"30d\"", "2592000"},
        {"packages/require_hashes", "true", "true"},
        {"packages/offline", "true", "true"},
        {"packages/cells", "\"no\"", "false"},
        {"packages/pth", "false", "false"},
        {"packages/shadow", "\"no\"", "false"},
        {"fetch/allow", "[]", "[]"},
        {"fetch/submodules", "false", "false"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_auto_t *value = NULL;
        cleanup_free char *text = NULL;
        profile_t view;
        fault_t fault;

        assert_int_equal(read_of(&cases[i], &view, &value, &fault), 0);
        text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(text, cases[i].has);
    }
}

static void numbers_and_switches_are_set(void **state)
{
    json_t *value;
    profile_t view;
    fault_t fault;

    (void) state;
    read_of(&(case_t){"limits/processes", "64", ""}, &view, &value, &fault);
    json_decref(value);
    assert_int_equal(view.limits.processes, 64);
    read_of(&(case_t){"packages/cells", "false", ""}, &view, &value, &fault);
    json_decref(value);
    assert_false(view.packages.serves_cells);
    read_of(&(case_t){"packages/deny", "[\"a\"]", ""}, &view, &value, &fault);
    json_decref(value);
    assert_ptr_equal(view.packages.deny, deny); /* it counts besides */
}

static void is_refused(const case_t *one, int expected)
{
    json_t *value;
    profile_t view;
    fault_t fault;

    assert_int_equal(read_of(one, &view, &value, &fault), expected);
    assert_null(value);
    if (!strstr(fault.text, one->has))
        fail_msg("%s %s: %s", one->key, one->asked, fault.text);
    assert_memory_equal(&view, &profile, sizeof view);
}

static void what_permits_more_is_refused(void **state)
{
    static const case_t cases[] = {
        {"limits/processes", "101", "is more than the 100 of profile small"},
        {"limits/memory", "0", "can only have less"},
        {"packages/cooldown", "\"6d\"", "is less than the 7d"},
        {"packages/cooldown", "0", "can only have more"},
        {"fetch/submodules", "true", "is looser than the no"},
        {"packages/pth", "true", "is looser than the no"},
        {"packages/shadow", "\"yes\"", "is looser than the no"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_refused(&cases[i], -ERANGE);
}

static void what_cannot_be_lowered_is_refused(void **state)
{
    static const case_t cases[] = {
        {"packages/index", "\"https://me:secret@b.example/\"",
         "\"...@b.example/\" is refused"},
        {"packages/allow", "[]", "would take nothing away"},
        {"packages/hosts", "[\"b\"]", "a session has the value of its profile"},
        {"packages/nothing", "1", "profile/small/packages/nothing"},
        {"packages/deny", "1", "is a number, a switch, a list or a text"},
        {"limits/processes", "[\"1\"]", "is a number, a switch, a list"},
        {"limits/processes", "{}", "is a number, a switch, a list"},
        {"limits/processes", "\"1\\u00002\"", "is a number, a switch, a list"},
        {"limits/processes", "\"many\"", "limits/processes"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_refused(&cases[i], -EINVAL);
}

static void is_written(const char *key, const char *value, const char *expected)
{
    json_auto_t *read = json_loads(value, JSON_DECODE_ANY, NULL);
    cleanup_free char *text = lowered_value_write(key, read);

    assert_string_equal(text, expected);
}

static void is_written_as_in_the_file(void **state)
{
    (void) state;
    is_written("limits/memory", "536870912", "512M");
    is_written("packages/cooldown", "604800", "7d");
    is_written("packages/cells", "false", "no");
    is_written("packages/deny", "[\"a\",\"b*\"]", "a, b*");
    is_written("packages/index", "\"\"", "");
    assert_null(lowered_value_write("limits/memory", NULL));
    assert_null(lowered_value_write("limits/nothing", json_true()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_has_one_form),
        cmocka_unit_test(numbers_and_switches_are_set),
        cmocka_unit_test(what_permits_more_is_refused),
        cmocka_unit_test(what_cannot_be_lowered_is_refused),
        cmocka_unit_test(is_written_as_in_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
