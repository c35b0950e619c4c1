#include "gateway/session/processes/process_keys.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

static void a_key_is_known_again(void **state)
{
    process_keys_t keys = {0};

    (void) state;
    assert_false(process_keys_has(&keys, "a"));
    process_keys_add(&keys, "a");
    process_keys_add(&keys, "");
    assert_true(process_keys_has(&keys, "a"));
    assert_true(process_keys_has(&keys, ""));
    assert_false(process_keys_has(&keys, "b"));
    process_keys_clear(&keys);
    assert_false(process_keys_has(&keys, "a"));
}

static void add(process_keys_t *keys, int number)
{
    cleanup_free char *key = mem_format("key %d", number);

    process_keys_add(keys, key);
}

static bool has(const process_keys_t *keys, int number)
{
    cleanup_free char *key = mem_format("key %d", number);

    return process_keys_has(keys, key);
}

static void one_too_many_forgets_the_oldest(void **state)
{
    process_keys_t keys = {0};

    (void) state;
    for (int i = 0; i < PROCESS_KEYS_MAX; i++)
        add(&keys, i);
    assert_true(has(&keys, 0));
    for (int i = 0; i < PROCESS_KEYS_MAX + 2; i++) {
        add(&keys, PROCESS_KEYS_MAX + i);
        assert_false(has(&keys, i));
        assert_true(has(&keys, i + 1));
        assert_true(has(&keys, PROCESS_KEYS_MAX + i));
    }
    assert_int_equal(keys.count, PROCESS_KEYS_MAX);
    process_keys_clear(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_known_again),
        cmocka_unit_test(one_too_many_forgets_the_oldest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
