/* Variables of the environment: an empty one is as one that is not set. */
#include "base/environment.h"
#include "tests/lib/test.h"

#define NAME "HEARTH_TEST_ENVIRONMENT"

static void returns_a_value(void **state)
{
    (void) state;
    assert_int_equal(setenv(NAME, "x y", 1), 0);
    assert_string_equal(environment_text(NAME), "x y");
}

static void takes_an_empty_one_for_none(void **state)
{
    (void) state;
    assert_int_equal(setenv(NAME, "", 1), 0);
    assert_null(environment_text(NAME));
    assert_int_equal(unsetenv(NAME), 0);
    assert_null(environment_text(NAME));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_a_value),
        cmocka_unit_test(takes_an_empty_one_for_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
