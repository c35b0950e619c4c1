/* What the words for values in the commands' tables permit. */
#include "base/buffer.h"
#include "gateway/cli/core/option_types.h"
#include "tests/lib/test.h"

#include <string.h>

static void reads_times(void **state)
{
    double seconds = 0;

    (void) state;
    assert_true(option_types_seconds("1.5", &seconds) && seconds > 1.49);
    assert_true(option_types_seconds("20m", &seconds) && seconds > 1199.9);
    assert_true(option_types_seconds("2h", &seconds) && seconds > 7199.9);
    assert_false(option_types_seconds("", &seconds));
    assert_false(option_types_seconds("-1", &seconds));
    assert_true(option_types_seconds("1d", &seconds) && seconds > 86399.9);
    assert_false(option_types_seconds("1w", &seconds));
    assert_false(option_types_seconds("nan", &seconds));
    assert_false(option_types_seconds("5mm", &seconds));
    assert_false(option_types_seconds("1e3", &seconds));
}

/* Returns true if the fault is `expected`; NULL: there is none. */
static bool has_fault(const char *word, const char *text, const char *expected)
{
    cleanup_free char *fault = option_types_fault(word, text);

    return fault && expected ? strcmp(fault, expected) == 0 : fault == expected;
}

static void names_the_valid_form(void **state)
{
    (void) state;
    assert_true(has_fault("TIME", "20m", NULL));
    assert_true(has_fault("TIME", "soon", "a time (90s, 20m, 2h, 1d)"));
    assert_true(has_fault("NUMBER", "12", NULL));
    assert_true(has_fault("NUMBER", "-1", "a whole number"));
    assert_true(has_fault("NUMBER", "", "a whole number"));
    assert_true(has_fault("KEY=VALUE", "a=b=c", NULL));
    assert_false(has_fault("KEY=VALUE", "=b", NULL));
    assert_false(has_fault("KEY=VALUE", "b", NULL));
}

static void permits_the_words_of_a_choice_alone(void **state)
{
    (void) state;
    assert_true(has_fault("auto|never", "auto", NULL));
    assert_true(has_fault("auto|never", "never", NULL));
    assert_true(has_fault("auto|never", "nev", "one of auto|never"));
    assert_false(has_fault("auto|never", "auto|never", NULL));
    assert_false(has_fault("auto|never", "", NULL));
}

static void permits_anything_for_an_unknown_word(void **state)
{
    (void) state;
    assert_true(has_fault("NAME", "", NULL));
    assert_true(has_fault("FILE", "no such file", NULL));
}

static void knows_where_candidates_are(void **state)
{
    (void) state;
    assert_int_equal(option_types_source("auto|never", 10), OPTION_TYPE_WORDS);
    assert_int_equal(option_types_source("FILE|-", 6), OPTION_TYPE_FILES);
    assert_int_equal(option_types_source("DIR", 3), OPTION_TYPE_FOLDERS);
    assert_int_equal(option_types_source("ID]", 2), OPTION_TYPE_SESSIONS);
    assert_int_equal(option_types_source("TIME", 4), OPTION_TYPE_ANY);
    assert_int_equal(option_types_source("", 0), OPTION_TYPE_ANY);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_times),
        cmocka_unit_test(names_the_valid_form),
        cmocka_unit_test(permits_the_words_of_a_choice_alone),
        cmocka_unit_test(permits_anything_for_an_unknown_word),
        cmocka_unit_test(knows_where_candidates_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
