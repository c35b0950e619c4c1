#include "protocol/history.h"
#include "tests/lib/test.h"

#include <stdio.h>

/* The signature of a number; mixed, as digests are. */
static const char *signature(unsigned number)
{
    static char text[65];
    unsigned long long mixed = number * 0x9E3779B97F4A7C15ULL;
    (void) snprintf(text, sizeof text, "%016llx%048u", mixed, number);
    return text;
}

static void knows_what_it_has_seen(void **state)
{
    (void) state;
    cleanup_history history_t *history = history_new(100);
    assert_true(history_add(history, signature(1)));
    assert_true(history_add(history, signature(2)));
    assert_false(history_add(history, signature(1)));
    assert_false(history_add(history, signature(2)));
}

static void forgets_the_oldest_tenth_at_its_limit(void **state)
{
    (void) state;
    cleanup_history history_t *history = history_new(1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_true(history_add(history, signature(i)));
    for (unsigned i = 0; i < 1000; i++)
        assert_false(history_add(history, signature(i)));
    assert_true(history_add(history, signature(1000)));
    for (unsigned i = 100; i <= 1000; i++)
        assert_false(history_add(history, signature(i)));
    for (unsigned i = 0; i < 99; i++)
        assert_true(history_add(history, signature(i)));
}

static void goes_on_at_its_limit(void **state)
{
    (void) state;
    cleanup_history history_t *history = history_new(65536);
    for (unsigned i = 0; i < 300000; i++) {
        assert_true(history_add(history, signature(i)));
        assert_false(history_add(history, signature(i)));
    }
}

static void works_with_a_limit_of_one(void **state)
{
    (void) state;
    cleanup_history history_t *history = history_new(1);
    assert_true(history_add(history, signature(1)));
    assert_false(history_add(history, signature(1)));
    assert_true(history_add(history, signature(2)));
    assert_true(history_add(history, signature(1)));
}

static void tells_digests_with_the_same_hash_apart(void **state)
{
    (void) state;
    cleanup_history history_t *history = history_new(500);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 200; i++) {
            char text[65];
            (void) snprintf(text, sizeof text, "%032x%032x", 7u, i);
            assert_int_equal(history_add(history, text), round == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_what_it_has_seen),
        cmocka_unit_test(forgets_the_oldest_tenth_at_its_limit),
        cmocka_unit_test(goes_on_at_its_limit),
        cmocka_unit_test(works_with_a_limit_of_one),
        cmocka_unit_test(tells_digests_with_the_same_hash_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
