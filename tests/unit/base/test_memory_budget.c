/* Who holds much leaves room for others, and all of them together hold no more
 * than there is. */
#include "base/memory_budget.h"
#include "tests/lib/test.h"

#define MIB ((uint64_t) 1 << 20)
#define MAX (1024 * MIB)

/* Takes 1 MiB at a time until that is refused. */
static uint64_t take_all(memory_share_t *share)
{
    while (memory_share_permits(share, MIB)) {
        assert_true(share->bytes < 2 * MAX);
        memory_share_set(share, share->bytes + MIB);
    }
    return share->bytes;
}

static void a_single_owner_gets_two_thirds(void **state)
{
    cleanup_memory_budget memory_budget_t *budget = memory_budget_new(MAX);
    memory_share_t share = {.budget = budget};

    (void) state;
    assert_true(memory_share_permits(&share, MAX / 2));
    assert_false(memory_share_permits(&share, MAX));
    assert_in_range(take_all(&share), MAX / 3 * 2 - 2 * MIB,
                    MAX / 3 * 2 + 2 * MIB);
    assert_in_range(memory_budget_held(budget), share.bytes - MEMORY_FREE,
                    share.bytes);
    memory_share_set(&share, 0);
    assert_int_equal(memory_budget_held(budget), 0);
}

static void many_leave_room_for_the_next(void **state)
{
    cleanup_memory_budget memory_budget_t *budget = memory_budget_new(MAX);
    memory_share_t shares[20];
    memory_share_t late = {.budget = budget};

    (void) state;
    for (size_t i = 0; i < 20; i++)
        shares[i] = (memory_share_t){.budget = budget};
    for (size_t i = 0; i < 20; i++) {
        take_all(&shares[i]);
        assert_true(memory_budget_held(budget) < MAX);
    }
    assert_true(memory_share_permits(&late, MEMORY_FREE));
    /* The first owner now has more than its share, and gets a refusal. */
    assert_false(memory_share_permits(&shares[0], 0));
    memory_share_set(&shares[0], 0);
    assert_true(memory_share_permits(&late, 64 * MIB));
}

static void a_little_is_free_when_all_is_taken(void **state)
{
    cleanup_memory_budget memory_budget_t *budget = memory_budget_new(MAX);
    memory_share_t hog = {.budget = budget}, other = {.budget = budget};

    (void) state;
    memory_share_set(&hog, 2 * MAX);
    assert_true(memory_share_permits(&other, MEMORY_FREE));
    assert_int_equal(memory_budget_refusals(budget), 0);
    assert_false(memory_budget_is_short(budget));
    assert_false(memory_share_permits(&other, MEMORY_FREE + 1));
    assert_int_equal(memory_budget_refusals(budget), 1);
    assert_true(memory_budget_is_short(budget));
}

static void without_a_budget_all_is_permitted(void **state)
{
    memory_share_t share = {0};

    (void) state;
    memory_share_set(&share, MAX);
    assert_true(memory_share_permits(&share, MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_owner_gets_two_thirds),
        cmocka_unit_test(many_leave_room_for_the_next),
        cmocka_unit_test(a_little_is_free_when_all_is_taken),
        cmocka_unit_test(without_a_budget_all_is_permitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
