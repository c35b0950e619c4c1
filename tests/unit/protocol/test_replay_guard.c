#include "protocol/replay_guard.h"
#include "tests/lib/test.h"

#include <string.h>

/* Returns a digest that ends with a number, in a static place. */
static uint8_t *digest_of(uint64_t hash, uint32_t number)
{
    static uint8_t digest[SECRET_DIGEST_SIZE];

    memcpy(digest, &hash, sizeof hash);
    memcpy(digest + sizeof digest - sizeof number, &number, sizeof number);
    return digest;
}

/* Returns the digest of a number; mixed, as digests are. */
static const uint8_t *signature(unsigned number)
{
    return digest_of(number * 0x9E3779B97F4A7C15ULL, number);
}

static void refuses_a_seen_signature(void **state)
{
    (void) state;
    cleanup_replay_guard replay_guard_t *history = replay_guard_new(100);
    assert_true(replay_guard_add(history, signature(1)));
    assert_true(replay_guard_add(history, signature(2)));
    assert_false(replay_guard_add(history, signature(1)));
    assert_false(replay_guard_add(history, signature(2)));
}

static void forgets_the_oldest_tenth_at_its_limit(void **state)
{
    (void) state;
    cleanup_replay_guard replay_guard_t *history = replay_guard_new(1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_true(replay_guard_add(history, signature(i)));
    for (unsigned i = 0; i < 1000; i++)
        assert_false(replay_guard_add(history, signature(i)));
    assert_true(replay_guard_add(history, signature(1000)));
    for (unsigned i = 100; i <= 1000; i++)
        assert_false(replay_guard_add(history, signature(i)));
    for (unsigned i = 0; i < 99; i++)
        assert_true(replay_guard_add(history, signature(i)));
}

static void accepts_new_signatures_at_its_limit(void **state)
{
    (void) state;
    cleanup_replay_guard replay_guard_t *history = replay_guard_new(65536);
    for (unsigned i = 0; i < 300000; i++) {
        assert_true(replay_guard_add(history, signature(i)));
        assert_false(replay_guard_add(history, signature(i)));
    }
}

static void works_with_a_limit_of_one(void **state)
{
    (void) state;
    cleanup_replay_guard replay_guard_t *history = replay_guard_new(1);
    assert_true(replay_guard_add(history, signature(1)));
    assert_false(replay_guard_add(history, signature(1)));
    assert_true(replay_guard_add(history, signature(2)));
    assert_true(replay_guard_add(history, signature(1)));
}

static void distinguishes_digests_with_the_same_hash(void **state)
{
    (void) state;
    cleanup_replay_guard replay_guard_t *history = replay_guard_new(500);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 200; i++)
            assert_int_equal(replay_guard_add(history, digest_of(7, i)),
                             round == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_a_seen_signature),
        cmocka_unit_test(forgets_the_oldest_tenth_at_its_limit),
        cmocka_unit_test(accepts_new_signatures_at_its_limit),
        cmocka_unit_test(works_with_a_limit_of_one),
        cmocka_unit_test(distinguishes_digests_with_the_same_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
