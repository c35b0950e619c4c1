/* A look at a session comes in time, however long the last one took. */
#include "gateway/session/limits/look_pace.h"
#include "tests/lib/test.h"

static const look_pace_t pace = {.base_ms = 250, .slowest_ms = 8000};

static void a_session_that_works_is_looked_at_at_its_pace(void **state)
{
    (void) state;
    assert_int_equal(look_pace_next(&pace, 250, 0, false), 250);
    assert_int_equal(look_pace_next(&pace, 8000, 1, false), 250);
}

static void a_quiet_session_is_looked_at_ever_less(void **state)
{
    (void) state;
    assert_int_equal(look_pace_next(&pace, 250, 0, true), 500);
    assert_int_equal(look_pace_next(&pace, 4000, 0, true), 8000);
    assert_int_equal(look_pace_next(&pace, 8000, 0, true), 8000);
}

/* A quarter of a second over gigabytes would put the next one 12 s off. */
static void a_long_look_does_not_delay_the_next_one(void **state)
{
    (void) state;
    assert_int_equal(look_pace_next(&pace, 250, 10, false), 500);
    assert_int_equal(look_pace_next(&pace, 250, 256, false), LOOK_LATEST_MS);
    assert_int_equal(look_pace_next(&pace, 250, 60000, false), LOOK_LATEST_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_that_works_is_looked_at_at_its_pace),
        cmocka_unit_test(a_quiet_session_is_looked_at_ever_less),
        cmocka_unit_test(a_long_look_does_not_delay_the_next_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
