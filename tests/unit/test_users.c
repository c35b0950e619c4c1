/* Users of a range, given out in turn and never twice while there are more. */
#include "sandbox/uid_pool.h"

#include "tests/lib/test.h"

static void gives_each_once(void **state)
{
    cleanup_users users_t *users = users_new(5000, 3);

    (void) state;
    for (uid_t wanted = 5000; wanted < 5003; wanted++) {
        assert_int_equal(users_choose(users), wanted);
        users_hold(users, wanted);
    }
    users_release(users, 5001);
    assert_int_equal(users_choose(users), 5001);
    users_hold(users, 5001);
    assert_int_equal(users_choose(users), 5000); /* shared: none is left */
}

static void gives_a_released_one_last(void **state)
{
    cleanup_users users_t *users = users_new(5000, 3);

    (void) state;
    users_hold(users, users_choose(users));
    users_release(users, 5000);
    assert_int_equal(users_choose(users), 5001);
    assert_int_equal(users_choose(users), 5002);
    assert_int_equal(users_choose(users), 5000);
}

static void counts_who_shares(void **state)
{
    cleanup_users users_t *users = users_new(5000, 2);

    (void) state;
    users_hold(users, 5000);
    users_hold(users, 5000);
    users_release(users, 5000);
    assert_int_equal(users_choose(users), 5001);
    assert_int_equal(users_choose(users), 5001);
    users_release(users, 5000);
    assert_int_equal(users_choose(users), 5000);
    users_release(users, 77); /* nobody's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_once),
        cmocka_unit_test(gives_a_released_one_last),
        cmocka_unit_test(counts_who_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
