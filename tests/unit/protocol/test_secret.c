#include "protocol/secret.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEY "a0436f6c-1916-498b-8eb9-e81ab9368e84"
#define HEADER                                                                 \
    "{\"msg_id\":\"m1\",\"session\":\"s1\",\"username\":\"u\","                \
    "\"date\":\"2026-01-02T03:04:05.000006Z\","                                \
    "\"msg_type\":\"kernel_info_request\",\"version\":\"5.3\"}"
#define SIGNATURE                                                              \
    "656279cdb5b069fbba1c958e6b909fd8a4407557f0756844e44ff30f66996f86"

static char header[] = HEADER;
static char empty[] = "{}";
static const struct iovec parts[] = {
    {header, sizeof header - 1}, {empty, 2}, {empty, 2}, {empty, 2}};

static secret_t *make(const char *key)
{
    secret_t *secret = NULL;
    fault_t fault;
    assert_int_equal(secret_new(key, strlen(key), &secret, &fault), 0);
    return secret;
}

static bool is_verified(const secret_t *secret, const struct iovec *of,
                        size_t count, const void *signature, size_t size)
{
    uint8_t ignored[SECRET_DIGEST_SIZE];

    return secret_verify(secret, of, count, signature, size, ignored);
}

static void signs_as_jupyter_does(void **state)
{
    (void) state;
    cleanup_secret secret_t *secret = make(KEY);
    char signature[SECRET_SIGNATURE_SIZE];
    secret_sign(secret, parts, 4, signature);
    assert_memory_equal(signature, SIGNATURE, sizeof signature);
    assert_true(is_verified(secret, parts, 4, SIGNATURE, 64));
    /* A second one from the same key is not disturbed by the first. */
    secret_sign(secret, parts, 4, signature);
    assert_memory_equal(signature, SIGNATURE, sizeof signature);
}

static void gives_the_bytes_of_a_signature(void **state)
{
    static const uint8_t bytes[] = {0x65, 0x62, 0x79, 0xcd};
    cleanup_secret secret_t *secret = make(KEY);
    uint8_t digest[SECRET_DIGEST_SIZE] = {0};

    (void) state;
    assert_false(secret_verify(secret, parts, 4, SIGNATURE, 63, digest));
    assert_int_equal(digest[0], 0);
    assert_true(secret_verify(secret, parts, 4, SIGNATURE, 64, digest));
    assert_memory_equal(digest, bytes, sizeof bytes);
    assert_int_equal(digest[SECRET_DIGEST_SIZE - 1], 0x86);
}

static void signs_with_a_key_longer_than_a_block(void **state)
{
    (void) state;
    /* RFC 4231, test case 6: 131 bytes of 0xaa. */
    char key[132] = "";
    memset(key, 0xAA, 131);
    char text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    const struct iovec part = {text, sizeof text - 1};
    cleanup_secret secret_t *secret = make(key);
    assert_true(is_verified(secret, &part, 1,
                            "60e431591ee0b67f0d8a26aacbf5b77f"
                            "8e0bc6213728c5140546040f0ee37f54",
                            64));
}

static void refuses_every_changed_bit(void **state)
{
    (void) state;
    cleanup_secret secret_t *secret = make(KEY);
    for (size_t i = 0; i < 64; i++) {
        char changed[] = SIGNATURE;
        changed[i] ^= 1;
        assert_false(is_verified(secret, parts, 4, changed, 64));
    }
    for (size_t i = 0; i < sizeof header - 1; i++) {
        header[i] ^= 1;
        assert_false(is_verified(secret, parts, 4, SIGNATURE, 64));
        header[i] ^= 1;
    }
}

static void refuses_signatures_of_another_length(void **state)
{
    (void) state;
    cleanup_secret secret_t *secret = make(KEY);
    assert_false(is_verified(secret, parts, 4, "", 0));
    assert_false(is_verified(secret, parts, 4, SIGNATURE, 63));
    assert_false(is_verified(secret, parts, 4, SIGNATURE "0", 65));
}

static void refuses_an_upper_case_signature(void **state)
{
    (void) state;
    cleanup_secret secret_t *secret = make(KEY);
    assert_false(is_verified(
        secret, parts, 4,
        "656279CDB5B069FBBA1C958E6B909FD8A4407557F0756844E44FF30F66996F86",
        64));
}

static void accepts_everything_without_a_key(void **state)
{
    (void) state;
    cleanup_secret secret_t *secret = make("");
    assert_true(secret_is_empty(secret));
    assert_true(is_verified(secret, parts, 4, "", 0));
    assert_true(is_verified(secret, parts, 4, "junk", 4));
}

static void makes_another_random_key_each_time(void **state)
{
    (void) state;
    cleanup_secret secret_t *one = secret_new_random();
    cleanup_secret secret_t *two = secret_new_random();
    assert_int_equal(strlen(secret_text(one)), 64);
    assert_int_equal(strspn(secret_text(one), "0123456789abcdef"), 64);
    assert_string_not_equal(secret_text(one), secret_text(two));
    assert_false(secret_is_empty(one));
}

static void refuses_a_key_that_is_too_long(void **state)
{
    (void) state;
    char key[SECRET_KEY_MAX + 2];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    secret_t *secret = NULL;
    fault_t fault;
    assert_int_equal(secret_new(key, SECRET_KEY_MAX + 1, &secret, &fault),
                     -EINVAL);
    assert_null(secret);
    assert_null(strstr(fault.text, "kkk"));
    key[SECRET_KEY_MAX] = '\0';
    cleanup_secret secret_t *longest = make(key);
    assert_string_equal(secret_text(longest), key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_as_jupyter_does),
        cmocka_unit_test(gives_the_bytes_of_a_signature),
        cmocka_unit_test(signs_with_a_key_longer_than_a_block),
        cmocka_unit_test(refuses_every_changed_bit),
        cmocka_unit_test(refuses_signatures_of_another_length),
        cmocka_unit_test(refuses_an_upper_case_signature),
        cmocka_unit_test(accepts_everything_without_a_key),
        cmocka_unit_test(makes_another_random_key_each_time),
        cmocka_unit_test(refuses_a_key_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
