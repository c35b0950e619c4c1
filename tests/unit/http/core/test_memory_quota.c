/* What lies in memory of all connections together has one bound; a little of
 * each is free. */
#include "gateway/http/core/memory_quota.h"

#include "tests/lib/test.h"

#define MAX 1000u

static void a_little_of_each_is_free(void **state)
{
    memory_quotas_t all = {.max = 0};
    uint64_t own = 0;

    (void) state;
    assert_true(memory_quota_set(&all, &own, 0));
    assert_true(memory_quota_set(&all, &own, MEMORY_QUOTA_FREE));
    assert_int_equal(own, 0);
    assert_int_equal(all.taken, 0);
    assert_false(memory_quota_set(&all, &own, MEMORY_QUOTA_FREE + 1));
    assert_int_equal(all.taken, 0);
}

static void the_whole_quota_and_no_more_can_be_taken(void **state)
{
    memory_quotas_t all = {.max = MAX};
    uint64_t one = 0, other = 0;

    (void) state;
    assert_true(memory_quota_set(&all, &one, MEMORY_QUOTA_FREE + 400));
    assert_true(memory_quota_set(&all, &other, MEMORY_QUOTA_FREE + 600));
    assert_int_equal(all.taken, MAX);
    /* What it has already is no more. */
    assert_true(memory_quota_set(&all, &other, MEMORY_QUOTA_FREE + 600));
    assert_false(memory_quota_set(&all, &other, MEMORY_QUOTA_FREE + 601));
    assert_int_equal(all.taken, MAX);
    assert_int_equal(one, 400);
    assert_int_equal(other, 600);
}

static void holding_less_is_always_permitted(void **state)
{
    memory_quotas_t all = {.max = MAX};
    uint64_t one = 0, other = 0;

    (void) state;
    assert_true(memory_quota_set(&all, &one, MEMORY_QUOTA_FREE + MAX));
    assert_false(memory_quota_set(&all, &other, MEMORY_QUOTA_FREE + 1));
    assert_true(memory_quota_set(&all, &one, MEMORY_QUOTA_FREE + 1));
    assert_int_equal(all.taken, 1);
    assert_true(memory_quota_set(&all, &other, MEMORY_QUOTA_FREE + MAX - 1));
    assert_true(memory_quota_set(&all, &one, 5));
    assert_int_equal(one, 0);
    assert_int_equal(all.taken, MAX - 1);
    assert_true(memory_quota_set(&all, &other, 0));
    assert_int_equal(all.taken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_little_of_each_is_free),
        cmocka_unit_test(the_whole_quota_and_no_more_can_be_taken),
        cmocka_unit_test(holding_less_is_always_permitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
