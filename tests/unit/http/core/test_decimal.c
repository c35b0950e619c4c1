/* Numbers of requests: digits alone. */
#include "gateway/http/core/decimal.h"

#include "tests/lib/test.h"

#include <string.h>

static void reads_digits_alone(void **state)
{
    static const char *const wrong[] = {
        "",   "-1",  "+1",  " 1",  "1 ",
        "1a", "0x1", "1.0", "1e3", "1234567890123456789"};
    uint64_t number = 77;

    (void) state;
    assert_true(decimal_read("0", &number));
    assert_int_equal(number, 0);
    assert_true(decimal_read("007", &number));
    assert_int_equal(number, 7);
    assert_true(decimal_read("999999999999999999", &number));
    assert_int_equal(number, 999999999999999999);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(decimal_read(wrong[i], &number));
    assert_false(decimal_read(NULL, &number));
    assert_int_equal(number, 999999999999999999); /* untouched */
}

static void takes_the_digits_at_the_beginning(void **state)
{
    const char *at = "12-345";
    uint64_t number;

    (void) state;
    assert_true(decimal_take(&at, &number));
    assert_int_equal(number, 12);
    assert_string_equal(at, "-345");
    assert_false(decimal_take(&at, &number));
    assert_string_equal(at, "-345");
    at = "1234567890123456789";
    assert_false(decimal_take(&at, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_digits_alone),
        cmocka_unit_test(takes_the_digits_at_the_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
