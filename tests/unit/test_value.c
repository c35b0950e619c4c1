/* What the words for values in the commands' tables permit. */
#include "gateway/cli/value.h"
#include "tests/lib/test.h"

#include <string.h>

static void reads_times(void **state)
{
    double seconds = 0;

    (void) state;
    assert_true(value_seconds("1.5", &seconds) && seconds > 1.49);
    assert_true(value_seconds("20m", &seconds) && seconds > 1199.9);
    assert_true(value_seconds("2h", &seconds) && seconds > 7199.9);
    assert_false(value_seconds("", &seconds));
    assert_false(value_seconds("-1", &seconds));
    assert_true(value_seconds("1d", &seconds) && seconds > 86399.9);
    assert_false(value_seconds("1w", &seconds));
    assert_false(value_seconds("nan", &seconds));
    assert_false(value_seconds("5mm", &seconds));
}

static void says_what_would_be_right(void **state)
{
    (void) state;
    assert_null(value_fault("TIME", "20m"));
    assert_string_equal(value_fault("TIME", "soon"),
                        "a time (90s, 20m, 2h, 1d)");
    assert_null(value_fault("NUMBER", "12"));
    assert_string_equal(value_fault("NUMBER", "-1"), "a whole number");
    assert_string_equal(value_fault("NUMBER", ""), "a whole number");
    assert_null(value_fault("KEY=VALUE", "a=b=c"));
    assert_non_null(value_fault("KEY=VALUE", "=b"));
    assert_non_null(value_fault("KEY=VALUE", "b"));
}

static void permits_the_words_of_a_choice_alone(void **state)
{
    (void) state;
    assert_null(value_fault("auto|never", "auto"));
    assert_null(value_fault("auto|never", "never"));
    assert_string_equal(value_fault("auto|never", "nev"), "one of auto|never");
    assert_non_null(value_fault("auto|never", "auto|never"));
    assert_non_null(value_fault("auto|never", ""));
}

static void permits_anything_for_other_words(void **state)
{
    (void) state;
    assert_null(value_fault("NAME", ""));
    assert_null(value_fault("FILE", "no such file"));
}

static void knows_where_candidates_are(void **state)
{
    (void) state;
    assert_int_equal(value_source("auto|never", 10), VALUE_WORDS);
    assert_int_equal(value_source("FILE|-", 6), VALUE_FILES);
    assert_int_equal(value_source("DIR", 3), VALUE_FOLDERS);
    assert_int_equal(value_source("ID]", 2), VALUE_SESSIONS);
    assert_int_equal(value_source("TIME", 4), VALUE_ANY);
    assert_int_equal(value_source("", 0), VALUE_ANY);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_times),
        cmocka_unit_test(says_what_would_be_right),
        cmocka_unit_test(permits_the_words_of_a_choice_alone),
        cmocka_unit_test(permits_anything_for_other_words),
        cmocka_unit_test(knows_where_candidates_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
