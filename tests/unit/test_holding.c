/* What lies in memory of all connections together has one bound; a little of
 * each is free. */
#include "gateway/http/core/memory_quota.h"

#include "tests/lib/test.h"

#define MAX 1000u

static void a_little_of_each_is_free(void **state)
{
    holdings_t all = {.max = 0};
    uint64_t own = 0;

    (void) state;
    assert_true(holding_set(&all, &own, 0));
    assert_true(holding_set(&all, &own, HOLDING_FREE));
    assert_int_equal(own, 0);
    assert_int_equal(all.taken, 0);
    assert_false(holding_set(&all, &own, HOLDING_FREE + 1));
    assert_int_equal(all.taken, 0);
}

static void all_of_it_can_be_taken_and_no_byte_more(void **state)
{
    holdings_t all = {.max = MAX};
    uint64_t one = 0, other = 0;

    (void) state;
    assert_true(holding_set(&all, &one, HOLDING_FREE + 400));
    assert_true(holding_set(&all, &other, HOLDING_FREE + 600));
    assert_int_equal(all.taken, MAX);
    /* What it has already is no more. */
    assert_true(holding_set(&all, &other, HOLDING_FREE + 600));
    assert_false(holding_set(&all, &other, HOLDING_FREE + 601));
    assert_int_equal(all.taken, MAX);
    assert_int_equal(one, 400);
    assert_int_equal(other, 600);
}

static void fewer_always_do(void **state)
{
    holdings_t all = {.max = MAX};
    uint64_t one = 0, other = 0;

    (void) state;
    assert_true(holding_set(&all, &one, HOLDING_FREE + MAX));
    assert_false(holding_set(&all, &other, HOLDING_FREE + 1));
    assert_true(holding_set(&all, &one, HOLDING_FREE + 1));
    assert_int_equal(all.taken, 1);
    assert_true(holding_set(&all, &other, HOLDING_FREE + MAX - 1));
    assert_true(holding_set(&all, &one, 5));
    assert_int_equal(one, 0);
    assert_int_equal(all.taken, MAX - 1);
    assert_true(holding_set(&all, &other, 0));
    assert_int_equal(all.taken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_little_of_each_is_free),
        cmocka_unit_test(all_of_it_can_be_taken_and_no_byte_more),
        cmocka_unit_test(fewer_always_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
