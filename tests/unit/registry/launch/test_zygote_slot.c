/* When a zygote is started again, and what becomes of the launches that wait.
 * The sessions are records, the time is the test's. */
#include "gateway/registry/launch/zygote_slot.h"

#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

static void waits_for_a_zygote_that_was_ready(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);

    (void) state;
    assert_false(zygote_slot_comes_back(slot));
    zygote_slot_on_started(slot, 0);
    assert_true(zygote_slot_comes_back(slot));
    zygote_slot_on_ready(slot, "3.11.2");
    assert_string_equal(zygote_slot_python(slot), "3.11.2");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(zygote_slot_on_gone(slot, true, "killed"),
                         ZYGOTE_SLOT_RETRY_MS);
        assert_true(zygote_slot_comes_back(slot));
        assert_string_equal(zygote_slot_python(slot), "");
        assert_string_equal(zygote_slot_fault(slot), "killed");
        zygote_slot_on_started(slot, 0);
        zygote_slot_on_ready(slot, "");
        assert_string_equal(zygote_slot_python(slot), "?");
    }
}

static void gives_up_after_three_that_fail(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);

    (void) state;
    zygote_slot_on_started(slot, 0);
    assert_int_equal(zygote_slot_on_gone(slot, false, "1"), 4000);
    assert_true(zygote_slot_comes_back(slot));
    assert_int_equal(zygote_slot_on_gone(slot, false, "2"), 8000);
    assert_true(zygote_slot_comes_back(slot));
    assert_int_equal(zygote_slot_on_gone(slot, false, "3"), 16000);
    assert_false(zygote_slot_comes_back(slot));
    assert_int_equal(zygote_slot_on_gone(slot, false, "4"), 32000);
    assert_int_equal(zygote_slot_on_gone(slot, false, "5"), 64000);
    assert_int_equal(zygote_slot_on_gone(slot, false, "6"), 64000);
    /* One that is ready ends the row. */
    zygote_slot_on_started(slot, 0);
    zygote_slot_on_ready(slot, "3");
    assert_int_equal(zygote_slot_on_gone(slot, false, "7"), 2000);
    assert_true(zygote_slot_comes_back(slot));
}

static void fails_at_once_when_the_zygote_gives_a_reason(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);

    (void) state;
    zygote_slot_on_started(slot, 0);
    (void) zygote_slot_on_gone(slot, true, "no module numpy");
    assert_false(zygote_slot_comes_back(slot));
    zygote_slot_on_started(slot, 0);
    assert_true(zygote_slot_comes_back(slot));
    assert_int_equal(zygote_slot_on_refused(slot, "no such file"), 8000);
    assert_false(zygote_slot_comes_back(slot));
    assert_string_equal(zygote_slot_fault(slot), "no such file");
    assert_int_equal(zygote_slot_on_gone(slot, false, "3"), 16000);
}

static void is_spent_by_sessions(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);
    session_entry_t entry = {.id = "a"};

    (void) state;
    fake_profile.zygote_forks = 2;
    assert_false(zygote_slot_is_worn(slot, 0));
    zygote_slot_on_started(slot, 0);
    zygote_slot_on_forked(slot);
    assert_false(zygote_slot_is_worn(slot, 0));
    zygote_slot_on_forked(slot);
    assert_int_equal(zygote_slot_forks(slot), 2);
    assert_true(zygote_slot_is_worn(slot, 0));
    zygote_slot_launch(slot, &entry, 1);
    assert_false(zygote_slot_is_worn(slot, 0));
    zygote_slot_forget(slot, &entry);
    assert_true(zygote_slot_is_worn(slot, 0));
    zygote_slot_on_replaced(slot, "");
    assert_false(zygote_slot_is_worn(slot, 0));
    zygote_slot_on_started(slot, 0);
    assert_int_equal(zygote_slot_forks(slot), 0);
    assert_false(zygote_slot_is_worn(slot, 0));
}

static void is_spent_by_age(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);

    (void) state;
    zygote_slot_on_started(slot, 1000);
    assert_false(zygote_slot_is_worn(slot, 1000000));
    fake_profile.zygote_age_ms = 500;
    assert_false(zygote_slot_is_worn(slot, 1499));
    assert_true(zygote_slot_is_worn(slot, 1500));
}

static void finds_launches_by_number(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);
    session_entry_t one = {.id = "a"}, two = {.id = "b"};

    (void) state;
    assert_null(zygote_slot_first_launch(slot));
    zygote_slot_launch(slot, &one, 1);
    zygote_slot_launch(slot, &two, 2);
    assert_ptr_equal(zygote_slot_find(slot, 1), &one);
    assert_ptr_equal(zygote_slot_find(slot, 2), &two);
    assert_null(zygote_slot_find(slot, 3));
    zygote_slot_launch(slot, &one, 3); /* again: the first one is forgotten */
    assert_null(zygote_slot_find(slot, 1));
    assert_ptr_equal(zygote_slot_find(slot, 3), &one);
    zygote_slot_forget(slot, &one);
    assert_null(zygote_slot_find(slot, 3));
    assert_int_equal(one.launch.number, 0);
    assert_ptr_equal(zygote_slot_first_launch(slot), &two);
    zygote_slot_forget(slot, &two);
    assert_null(zygote_slot_first_launch(slot));
}

static void parks_in_the_order_they_came(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);
    session_entry_t one = {.id = "a"}, two = {.id = "b"}, three = {.id = "c"};

    (void) state;
    zygote_slot_park(slot, &one);
    zygote_slot_park(slot, &two);
    zygote_slot_park(slot, &three);
    zygote_slot_unpark(slot, &two);
    zygote_slot_unpark(slot, &two);
    assert_ptr_equal(zygote_slot_take_parked(slot), &one);
    assert_ptr_equal(zygote_slot_take_parked(slot), &three);
    assert_null(zygote_slot_take_parked(slot));
    zygote_slot_park(slot, &one);
    zygote_slot_forget(slot, &one);
    assert_null(zygote_slot_take_parked(slot));
    zygote_slot_launch(slot, &one, 5);
    zygote_slot_park(slot, &one);
    assert_null(zygote_slot_find(slot, 5));
    assert_ptr_equal(zygote_slot_take_parked(slot), &one);
}

static void knows_which_zygote_a_kernel_came_from(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);
    session_entry_t entry = {.id = "a"};

    (void) state;
    zygote_slot_on_started(slot, 0);
    zygote_slot_launch(slot, &entry, 1);
    zygote_slot_forget(slot, &entry);
    assert_true(zygote_slot_made(slot, &entry));
    zygote_slot_on_started(slot, 0);
    assert_false(zygote_slot_made(slot, &entry));
}

static void knows_whether_its_environment_changes(void **state)
{
    cleanup_zygote_slot zygote_slot_t *slot = zygote_slot_new(&fake_profile);

    (void) state;
    assert_ptr_equal(zygote_slot_profile(slot), &fake_profile);
    assert_false(zygote_slot_is_changing(slot));
    zygote_slot_set_changing(slot, true);
    assert_true(zygote_slot_is_changing(slot));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(waits_for_a_zygote_that_was_ready, fake_begin),
        cmocka_unit_test_setup(gives_up_after_three_that_fail, fake_begin),
        cmocka_unit_test_setup(fails_at_once_when_the_zygote_gives_a_reason,
                               fake_begin),
        cmocka_unit_test_setup(is_spent_by_sessions, fake_begin),
        cmocka_unit_test_setup(is_spent_by_age, fake_begin),
        cmocka_unit_test_setup(finds_launches_by_number, fake_begin),
        cmocka_unit_test_setup(parks_in_the_order_they_came, fake_begin),
        cmocka_unit_test_setup(knows_which_zygote_a_kernel_came_from,
                               fake_begin),
        cmocka_unit_test_setup(knows_whether_its_environment_changes,
                               fake_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
