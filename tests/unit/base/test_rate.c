/* Events that others cause are reported at a bounded rate, and all are counted.
 */
#include "base/rate.h"
#include "tests/lib/test.h"

static void permits_a_burst_and_then_one_at_a_time(void **state)
{
    rate_t rate = {0};
    uint64_t count = 0, shown = 0;

    (void) state;
    for (int i = 0; i < 10 * RATE_BURST; i++)
        if (rate_allows(&rate, 1000, &count)) {
            assert_int_equal(count, 1);
            shown++;
        }
    assert_int_equal(shown, RATE_BURST);
    assert_false(rate_allows(&rate, 1000 + RATE_GAP_MS - 1, &count));
    assert_true(rate_allows(&rate, 1000 + RATE_GAP_MS, &count));
    assert_int_equal(count, 9 * RATE_BURST + 2);
    assert_false(rate_allows(&rate, 1000 + RATE_GAP_MS, &count));
}

static void is_full_again_after_a_while(void **state)
{
    rate_t rate = {0};
    uint64_t count = 0;
    int64_t later = 1000 + RATE_BURST * RATE_GAP_MS;

    (void) state;
    for (int i = 0; i < 10 * RATE_BURST; i++)
        (void) rate_allows(&rate, 1000, &count);
    for (int i = 0; i < RATE_BURST; i++)
        assert_true(rate_allows(&rate, later, &count));
    assert_false(rate_allows(&rate, later, &count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permits_a_burst_and_then_one_at_a_time),
        cmocka_unit_test(is_full_again_after_a_while),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
