/* The names of sessions' folders of packages. */
#include "gateway/session/lifecycle/packages_token.h"

#include "tests/lib/test.h"

#include <sodium.h>

#include <string.h>

static void each_is_another_one(void **state)
{
    char one[PACKAGES_TOKEN_SIZE], other[PACKAGES_TOKEN_SIZE];

    (void) state;
    packages_token_make(one);
    packages_token_make(other);
    assert_true(packages_token_is_valid(one));
    assert_true(packages_token_is_valid(other));
    assert_string_not_equal(one, other);
}

static void only_32_small_hex_digits_are_a_token(void **state)
{
    static const char *const wrong[] = {
        "",
        ".",
        "..",
        "0123456789abcdef0123456789abcde",
        "0123456789abcdef0123456789abcdef0",
        "0123456789abcdef0123456789abcdeF",
        "0123456789abcdef0123456789abcde/",
        "../../../../../../../../../../ab",
        "0123456789abcdef0123456789abcde\n",
    };

    (void) state;
    assert_true(packages_token_is_valid("0123456789abcdef0123456789abcdef"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(packages_token_is_valid(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_another_one),
        cmocka_unit_test(only_32_small_hex_digits_are_a_token),
    };

    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
