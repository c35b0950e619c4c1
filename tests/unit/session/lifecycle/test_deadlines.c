#include "gateway/session/lifecycle/deadlines.h"
#include "tests/lib/test.h"

#define NOW 1700000000000000

static void counts_the_time_left(void **state)
{
    (void) state;
    assert_int_equal(deadlines_left(5000, NOW, NOW), 5000);
    assert_int_equal(deadlines_left(5000, NOW - 2000000, NOW), 3000);
    assert_int_equal(deadlines_left(5000, NOW - 4999000, NOW), 1);
}

static void a_passed_deadline_is_due_at_once(void **state)
{
    (void) state;
    assert_int_equal(deadlines_left(5000, NOW - 5000000, NOW), 1);
    assert_int_equal(deadlines_left(5000, NOW - 9000000, NOW), 1);
}

static void a_clock_set_back_lengthens_no_deadline(void **state)
{
    (void) state;
    assert_int_equal(deadlines_left(5000, NOW + 3000000, NOW), 5000);
}

static void a_deadline_without_a_start_starts_now(void **state)
{
    (void) state;
    assert_int_equal(deadlines_left(5000, 0, NOW), 5000);
}

static void a_cells_own_limit_counts_first(void **state)
{
    (void) state;
    assert_int_equal(deadlines_cell_limit(0, 0), 0);
    assert_int_equal(deadlines_cell_limit(0, 7000), 7000);
    assert_int_equal(deadlines_cell_limit(9000, 7000), 9000);
}

static void an_output_is_activity_for_a_time(void **state)
{
    (void) state;
    assert_int_equal(deadlines_active(NOW, 0, NOW + 5), NOW);
    assert_int_equal(deadlines_active(NOW, NOW - 1, NOW + 5), NOW);
    assert_int_equal(deadlines_active(NOW, NOW + 2, NOW + 5), NOW + 2);
    assert_int_equal(deadlines_active(NOW, NOW + 6, NOW + 5), NOW + 5);
    assert_int_equal(deadlines_active(NOW, NOW + 2, NOW), NOW);
    assert_int_equal(deadlines_active(NOW, NOW + 2, NOW - 5), NOW);
}

static void an_idle_session_expires(void **state)
{
    (void) state;
    assert_int_equal(deadlines_expiry(NOW, 5000, true), NOW + 5000000);
    assert_int_equal(deadlines_expiry(NOW, 5000, false), 0);
    assert_int_equal(deadlines_expiry(NOW, 0, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_the_time_left),
        cmocka_unit_test(a_passed_deadline_is_due_at_once),
        cmocka_unit_test(a_clock_set_back_lengthens_no_deadline),
        cmocka_unit_test(a_deadline_without_a_start_starts_now),
        cmocka_unit_test(a_cells_own_limit_counts_first),
        cmocka_unit_test(an_output_is_activity_for_a_time),
        cmocka_unit_test(an_idle_session_expires),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
