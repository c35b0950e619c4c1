/* Texts in URLs. */
#include "base/cleanup.h"
#include "base/url_encode.h"
#include "tests/lib/test.h"

#include <stdlib.h>

static void check(const char *text, const char *kept, const char *encoded)
{
    cleanup_free char *got = url_encode(text, kept);

    assert_string_equal(got, encoded);
}

static void encodes_what_a_url_may_not_have(void **state)
{
    (void) state;
    check("aZ09-._~", "", "aZ09-._~");
    check("a b%?#\"\n\x7F", "", "a%20b%25%3F%23%22%0A%7F");
    check("\xC3\xA9", "", "%C3%A9");
    check("a/b", "", "a%2Fb");
    check("a/b c", "/", "a/b%20c");
    check("", "/", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_what_a_url_may_not_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
