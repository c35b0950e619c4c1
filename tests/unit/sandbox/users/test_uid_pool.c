/* Users of a range, given out in turn and never twice while there are more. */
#include "sandbox/users/uid_pool.h"

#include "tests/lib/test.h"

static void gives_each_once(void **state)
{
    cleanup_uid_pool uid_pool_t *users = uid_pool_new(5000, 3);

    (void) state;
    for (uid_t wanted = 5000; wanted < 5003; wanted++) {
        assert_int_equal(uid_pool_choose(users), wanted);
        uid_pool_hold(users, wanted);
    }
    uid_pool_release(users, 5001);
    assert_int_equal(uid_pool_choose(users), 5001);
    uid_pool_hold(users, 5001);
    assert_int_equal(uid_pool_choose(users), 5000); /* shared: none is left */
}

static void gives_a_released_uid_last(void **state)
{
    cleanup_uid_pool uid_pool_t *users = uid_pool_new(5000, 3);

    (void) state;
    uid_pool_hold(users, uid_pool_choose(users));
    uid_pool_release(users, 5000);
    assert_int_equal(uid_pool_choose(users), 5001);
    assert_int_equal(uid_pool_choose(users), 5002);
    assert_int_equal(uid_pool_choose(users), 5000);
}

static void counts_users_of_a_shared_uid(void **state)
{
    cleanup_uid_pool uid_pool_t *users = uid_pool_new(5000, 2);

    (void) state;
    uid_pool_hold(users, 5000);
    uid_pool_hold(users, 5000);
    uid_pool_release(users, 5000);
    assert_int_equal(uid_pool_choose(users), 5001);
    assert_int_equal(uid_pool_choose(users), 5001);
    uid_pool_release(users, 5000);
    assert_int_equal(uid_pool_choose(users), 5000);
    uid_pool_release(users, 77); /* not in use */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_once),
        cmocka_unit_test(gives_a_released_uid_last),
        cmocka_unit_test(counts_users_of_a_shared_uid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
