/* Limits of one session: lower than the profile's, never more, and still so
 * when the profile has changed. */
#include "tests/lib/test.h"

#include "gateway/config/lowering.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)

static char name[] = "small";
static profile_t profile = {
    .name = name,
    .limits = {.memory = 1024 * MIB,
               .processes = 100,
               .open_files = 1024,
               .cpu_weight = 100,
               .cell_output = 64 * MIB,
               .retain = 64 * MIB},
};

static int ask_of(const char *section, const char *text, char **ret_text,
                  fault_t *fault)
{
    json_auto_t *asked = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(asked);
    return lowering_ask(&profile, section, asked, ret_text, fault);
}

static int ask(const char *text, char **ret_text, fault_t *fault)
{
    return ask_of(LOWERING_LIMITS, text, ret_text, fault);
}

static void lowers_a_limit(void **state)
{
    profile_limits_t limits, expected = profile.limits;
    cleanup_free char *text = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(ask("{\"memory\": \"512M\", \"processes\": 64,"
                         " \"cpu_seconds\": 30}",
                         &text, &fault),
                     0);
    expected.memory = 512 * MIB;
    expected.processes = 64;
    expected.cpu_seconds = 30; /* the profile has none */
    assert_string_equal(text, "{\"memory\":536870912,\"processes\":64,"
                              "\"cpu_seconds\":30}");
    limits = lowering_limits(&profile, text);
    assert_memory_equal(&limits, &expected, sizeof limits);
}

static void accepts_no_overrides(void **state)
{
    static const char *const nothing[] = {"null", "{}"};
    profile_limits_t limits;
    char *text;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        assert_int_equal(ask(nothing[i], &text, &fault), 0);
        assert_null(text);
    }
    assert_int_equal(
        lowering_ask(&profile, LOWERING_LIMITS, NULL, &text, &fault), 0);
    assert_null(text);
    limits = lowering_limits(&profile, NULL);
    assert_memory_equal(&limits, &profile.limits, sizeof limits);
}

static void refuses_invalid_overrides(void **state)
{
    static const struct {
        const char *asked, *says;
        int r;
    } cases[] = {
        {"{\"memory\": \"2G\"}", "more than the 1G of profile small", -ERANGE},
        {"{\"processes\": 101}", "limits/processes", -ERANGE},
        {"{\"memory\": 0}", "limits/memory", -ERANGE},
        {"{\"cell_output\": \"0\"}", "limits/cell_output", -ERANGE},
        {"{\"memory\": 1}", "limits/memory", -EINVAL},
        {"{\"memory\": \"much\"}", "limits/memory", -EINVAL},
        {"{\"memory\": 536870912.5}", "limits/memory", -EINVAL},
        {"{\"memory\": true}", "limits/memory", -EINVAL},
        {"{\"open_files\": -1}", "limits/open_files", -EINVAL},
        {"{\"processes\": 64, \"memmory\": 1}", "limits/memmory", -EINVAL},
        {"{\"../python\": \"/bin/sh\"}", "no such key", -EINVAL},
        {"[1]", "must be an object", -EINVAL},
        {"\"512M\"", "must be an object", -EINVAL},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        fault_t fault;

        assert_int_equal(ask(cases[i].asked, &text, &fault), cases[i].r);
        assert_non_null(strstr(fault.text, cases[i].says));
        assert_null(text);
    }
}

static void the_profile_of_today_holds(void **state)
{
    profile_t today = profile;
    profile_limits_t limits;

    (void) state;
    today.limits.memory = 128 * MIB;
    limits = lowering_limits(
        &today, "{\"memory\":536870912,\"processes\":64,\"gone\":1}");
    assert_int_equal(limits.memory, 128 * MIB);
    assert_int_equal(limits.processes, 64);
    limits = lowering_limits(&today, "no JSON");
    assert_memory_equal(&limits, &today.limits, sizeof limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lowers_a_limit),
        cmocka_unit_test(accepts_no_overrides),
        cmocka_unit_test(refuses_invalid_overrides),
        cmocka_unit_test(the_profile_of_today_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
