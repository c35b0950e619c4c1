#include "protocol/piece_digest.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

static void assert_digest(const char *text, const char *expected)
{
    char digest[PIECE_DIGEST_SIZE];

    piece_digest(text_bytes(text), digest);
    assert_string_equal(digest, expected);
}

/* As Python's hashlib.blake2b with digest_size=32 computes them. */
static void a_digest_is_blake2b_of_32_bytes(void **state)
{
    (void) state;
    assert_digest(
        "", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    assert_digest(
        "abc",
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_digest_is_blake2b_of_32_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
