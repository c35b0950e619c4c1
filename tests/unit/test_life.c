#include "gateway/session/state.h"
#include "tests/lib/test.h"

/* A whole life, as it should be. */
static void goes_from_starting_to_gone(void **state)
{
    life_t life = LIFE_STARTING;

    (void) state;
    assert_true(life_step(&life, LIFE_ON_READY));
    assert_int_equal(life, LIFE_IDLE);
    assert_true(life_step(&life, LIFE_ON_BEGIN));
    assert_int_equal(life, LIFE_BUSY);
    assert_true(life_step(&life, LIFE_ON_END));
    assert_int_equal(life, LIFE_IDLE);
    assert_true(life_step(&life, LIFE_ON_STOP));
    assert_int_equal(life, LIFE_STOPPING);
    assert_true(life_step(&life, LIFE_ON_EXIT));
    assert_int_equal(life, LIFE_GONE);
}

static void refuses_what_cannot_happen(void **state)
{
    life_t life = LIFE_STARTING;

    (void) state;
    assert_false(life_step(&life, LIFE_ON_BEGIN));
    assert_false(life_step(&life, LIFE_ON_END));
    assert_int_equal(life, LIFE_STARTING);
    life = LIFE_BUSY;
    assert_false(life_step(&life, LIFE_ON_BEGIN));
    assert_false(life_step(&life, LIFE_ON_READY));
    assert_int_equal(life, LIFE_BUSY);
}

/* Nothing wakes a session that is gone but a fresh kernel. */
static void stays_gone(void **state)
{
    (void) state;
    for (int event = 0; event < LIFE_EVENT_COUNT; event++) {
        life_t life = LIFE_GONE;
        bool moved = life_step(&life, (life_event_t) event);

        assert_int_equal(moved, event == LIFE_ON_RELAUNCH);
        assert_int_equal(life, moved ? LIFE_STARTING : LIFE_GONE);
    }
}

static void ends_from_every_state(void **state)
{
    (void) state;
    for (int from = 0; from < LIFE_GONE; from++) {
        life_t life = (life_t) from;

        assert_true(life_step(&life, LIFE_ON_EXIT));
        assert_int_equal(life, LIFE_GONE);
    }
}

static void names_states_and_reasons(void **state)
{
    (void) state;
    assert_string_equal(life_name(LIFE_BUSY), "busy");
    assert_string_equal(life_reason_name(LIFE_REASON_IDLE_TIMEOUT), "idle");
    assert_string_equal(life_reason_name(LIFE_REASON_PROTOCOL), "protocol");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_from_starting_to_gone),
        cmocka_unit_test(refuses_what_cannot_happen),
        cmocka_unit_test(stays_gone),
        cmocka_unit_test(ends_from_every_state),
        cmocka_unit_test(names_states_and_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
