/* Digits of hexadecimal numbers, and the texts that have only these. */
#include "base/hex.h"
#include "tests/lib/test.h"

static void knows_each_digit(void **state)
{
    static const char small[] = HEX_DIGITS, large[] = "0123456789ABCDEF";

    (void) state;
    for (int i = 0; i < 16; i++) {
        assert_int_equal(hex_value(small[i]), i);
        assert_int_equal(hex_value(large[i]), i);
    }
    for (const char *other = "/:@G`g\xE2"; *other; other++)
        assert_int_equal(hex_value(*other), -1);
    assert_int_equal(hex_value('\0'), -1);
}

static void reads_a_number_of_digits(void **state)
{
    (void) state;
    assert_int_equal(hex_number("fE", 2), 0xFE);
    assert_int_equal(hex_number("0020AC", 6), 0x20AC);
    assert_int_equal(hex_number("20acz", 4), 0x20AC);
    assert_int_equal(hex_number("", 0), 0);
    assert_int_equal(hex_number("g0", 2), -1);
    assert_int_equal(hex_number("0g", 2), -1);
    assert_int_equal(hex_number("0", 2), -1);
    assert_int_equal(hex_number("", 2), -1);
}

static void knows_a_text_of_digits(void **state)
{
    (void) state;
    assert_true(hex_is("00af", 4));
    assert_true(hex_is("", 0));
    assert_false(hex_is("00af", 3));
    assert_false(hex_is("00af", 5));
    assert_false(hex_is("00aF", 4));
    assert_false(hex_is("00ag", 4));
    assert_false(hex_is(NULL, 4));
}

static void reads_a_unit_that_is_whole(void **state)
{
    static const char text[] = "20acZ";

    (void) state;
    assert_int_equal(hex_unit(text, text + 4), 0x20AC);
    assert_int_equal(hex_unit(text, text + 3), -1);
    assert_int_equal(hex_unit(text + 1, text + 5), -1);
    assert_int_equal(hex_unit(text, text), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_each_digit),
        cmocka_unit_test(reads_a_number_of_digits),
        cmocka_unit_test(knows_a_text_of_digits),
        cmocka_unit_test(reads_a_unit_that_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
