#include "gateway/session/lifecycle/state.h"
#include "tests/lib/test.h"

#include <string.h>

/* A session in a phase, and each region at its beginning. */
static session_state_t *in_phase(session_phase_t phase)
{
    static const struct {
        int count;
        session_event_t events[2];
    } ways[PHASE_COUNT] = {
        [PHASE_STARTING] = {0, {0}},
        [PHASE_IDLE] = {1, {STATE_ON_READY}},
        [PHASE_BUSY] = {2, {STATE_ON_READY, STATE_ON_BEGIN}},
        [PHASE_STOPPING] = {1, {STATE_ON_STOP}},
        [PHASE_GONE] = {1, {STATE_ON_EXIT}},
    };
    session_state_t *state = session_state_new();

    for (int i = 0; i < ways[phase].count; i++)
        assert_true(session_state_step(state, ways[phase].events[i]));
    assert_int_equal(session_state_phase(state), phase);
    return state;
}

/* A whole life, as it should be. */
static void goes_from_starting_to_gone(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    assert_true(session_state_is(state, PHASE_STARTING));
    assert_false(session_state_is_at_work(state));
    assert_true(session_state_step(state, STATE_ON_READY));
    assert_true(session_state_is(state, PHASE_IDLE));
    assert_true(session_state_is_at_work(state));
    assert_true(session_state_step(state, STATE_ON_BEGIN));
    assert_true(session_state_is(state, PHASE_BUSY));
    assert_true(session_state_is_at_work(state));
    assert_true(session_state_step(state, STATE_ON_END));
    assert_true(session_state_is(state, PHASE_IDLE));
    assert_true(session_state_step(state, STATE_ON_STOP));
    assert_true(session_state_is(state, PHASE_STOPPING));
    assert_false(session_state_is_at_work(state));
    assert_true(session_state_step(state, STATE_ON_EXIT));
    assert_true(session_state_is(state, PHASE_GONE));
}

/* Every phase with every event that moves phases. */
static void each_event_leads_where_it_should(void **unused)
{
#define NO PHASE_COUNT
    static const struct {
        session_event_t event;
        session_phase_t to[PHASE_COUNT];
    } rows[] = {
        /*                   STARTING       IDLE  BUSY  STOPPING  GONE */
        {STATE_ON_READY, {PHASE_IDLE, NO, NO, NO, NO}},
        {STATE_ON_BEGIN, {NO, PHASE_BUSY, NO, NO, NO}},
        {STATE_ON_END, {NO, NO, PHASE_IDLE, NO, NO}},
        {STATE_ON_STOP,
         {PHASE_STOPPING, PHASE_STOPPING, PHASE_STOPPING, NO, NO}},
        {STATE_ON_EXIT, {PHASE_GONE, PHASE_GONE, PHASE_GONE, PHASE_GONE, NO}},
        {STATE_ON_RELAUNCH,
         {NO, PHASE_STARTING, PHASE_STARTING, PHASE_STARTING, PHASE_STARTING}},
        {STATE_ON_ADOPT, {PHASE_IDLE, NO, NO, NO, NO}},
        {STATE_ON_FIND_GONE, {PHASE_GONE, NO, NO, NO, NO}},
    };

    (void) unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int from = 0; from < PHASE_COUNT; from++) {
            cleanup_session_state session_state_t *state =
                in_phase((session_phase_t) from);
            session_phase_t to = rows[i].to[from];

            assert_int_equal(session_state_step(state, rows[i].event),
                             to != NO);
            assert_int_equal(session_state_phase(state),
                             to == NO ? (session_phase_t) from : to);
        }
}

static void other_events_move_no_phase(void **unused)
{
    (void) unused;
    for (int event = STATE_ON_WANT_RESTART; event < STATE_EVENT_COUNT; event++)
        for (int from = 0; from < PHASE_COUNT; from++) {
            cleanup_session_state session_state_t *state =
                in_phase((session_phase_t) from);

            (void) session_state_step(state, (session_event_t) event);
            assert_int_equal(session_state_phase(state), from);
        }
}

static void expect_sequel(const session_event_t *events, size_t count,
                          session_sequel_t sequel)
{
    cleanup_session_state session_state_t *state = session_state_new();

    for (size_t i = 0; i < count; i++)
        (void) session_state_step(state, events[i]);
    assert_int_equal(session_state_sequel(state), sequel);
}

#define SEQUEL(sequel, ...)                                                    \
    expect_sequel((const session_event_t[]){__VA_ARGS__},                      \
                  sizeof(const session_event_t[]){__VA_ARGS__}                 \
                      / sizeof(session_event_t),                               \
                  sequel)

static void the_requested_end_or_restart_follows(void **unused)
{
    (void) unused;
    SEQUEL(SEQUEL_BY_PROFILE, STATE_ON_STOP);
    SEQUEL(SEQUEL_RESTART, STATE_ON_WANT_RESTART);
    SEQUEL(SEQUEL_NONE, STATE_ON_WANT_END);
    SEQUEL(SEQUEL_NONE, STATE_ON_WANT_RESTART, STATE_ON_WANT_END);
    SEQUEL(SEQUEL_NONE, STATE_ON_WANT_END, STATE_ON_WANT_END);
    SEQUEL(SEQUEL_BY_PROFILE, STATE_ON_WANT_RESTART, STATE_ON_WANT_NOTHING);
    /* It outlives the kernel, and ends with the next one. */
    SEQUEL(SEQUEL_RESTART, STATE_ON_WANT_RESTART, STATE_ON_STOP, STATE_ON_EXIT);
    SEQUEL(SEQUEL_BY_PROFILE, STATE_ON_WANT_RESTART, STATE_ON_EXIT,
           STATE_ON_RELAUNCH);
    SEQUEL(SEQUEL_NONE, STATE_ON_WANT_END, STATE_ON_EXIT, STATE_ON_BURY);
}

static void a_launch_is_repeated_unless_its_end_is_wanted(void **unused)
{
    (void) unused;
    SEQUEL(SEQUEL_REPEAT, STATE_ON_REPEAT);
    SEQUEL(SEQUEL_CANCELLED, STATE_ON_REPEAT, STATE_ON_WANT_END);
    SEQUEL(SEQUEL_CANCELLED, STATE_ON_WANT_END, STATE_ON_REPEAT);
    SEQUEL(SEQUEL_BY_PROFILE, STATE_ON_REPEAT, STATE_ON_GIVE_UP);
    SEQUEL(SEQUEL_NONE, STATE_ON_REPEAT, STATE_ON_WANT_END, STATE_ON_GIVE_UP);
    SEQUEL(SEQUEL_NONE, STATE_ON_REPEAT, STATE_ON_WANT_END, STATE_ON_BURY);
    SEQUEL(SEQUEL_BY_PROFILE, STATE_ON_REPEAT, STATE_ON_EXIT,
           STATE_ON_RELAUNCH);
}

static void an_answer_is_awaited_for_a_repeated_launch(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    (void) session_state_step(state, STATE_ON_REPEAT);
    assert_false(session_state_awaits_answer(state));
    (void) session_state_step(state, STATE_ON_LAUNCH);
    assert_true(session_state_awaits_answer(state));
    (void) session_state_step(state, STATE_ON_WANT_END);
    assert_true(session_state_awaits_answer(state));
    (void) session_state_step(state, STATE_ON_LAUNCH_FAILED);
    assert_false(session_state_awaits_answer(state));
}

static void no_answer_is_awaited_of_other_launches(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    (void) session_state_step(state, STATE_ON_LAUNCH);
    assert_false(session_state_awaits_answer(state));
    (void) session_state_step(state, STATE_ON_WANT_END);
    assert_false(session_state_awaits_answer(state));
}

static void a_launch_is_asked_for_made_and_checked(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    assert_false(session_state_step(state, STATE_ON_FORKED));
    assert_false(session_state_step(state, STATE_ON_CHECKED));
    assert_true(session_state_step(state, STATE_ON_LAUNCH));
    assert_int_equal(session_state_launch(state), LAUNCH_ASKED);
    assert_false(session_state_step(state, STATE_ON_CHECKED));
    assert_true(session_state_step(state, STATE_ON_FORKED));
    assert_int_equal(session_state_launch(state), LAUNCH_FORKED);
    assert_false(session_state_step(state, STATE_ON_LAUNCH_FAILED));
    assert_true(session_state_step(state, STATE_ON_CHECKED));
    assert_int_equal(session_state_launch(state), LAUNCH_CHECKED);
    /* The next kernel has to be checked anew. */
    assert_true(session_state_step(state, STATE_ON_LAUNCH));
    assert_int_equal(session_state_launch(state), LAUNCH_ASKED);
    assert_true(session_state_step(state, STATE_ON_LAUNCH_FAILED));
    assert_int_equal(session_state_launch(state), LAUNCH_NONE);
}

static void a_link_is_greeted_once(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    assert_int_equal(session_state_link(state), LINK_DOWN);
    assert_false(session_state_step(state, STATE_ON_WELCOME));
    assert_true(session_state_step(state, STATE_ON_HELLO));
    assert_false(session_state_is_greeted(state));
    assert_true(session_state_step(state, STATE_ON_WELCOME));
    assert_true(session_state_is_greeted(state));
    assert_false(session_state_step(state, STATE_ON_WELCOME));
    assert_true(session_state_step(state, STATE_ON_LINK_CLOSED));
    assert_int_equal(session_state_link(state), LINK_DOWN);
    assert_false(session_state_step(state, STATE_ON_LINK_CLOSED));
}

static void a_journal_that_fails_cuts_the_link(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    (void) session_state_step(state, STATE_ON_HELLO);
    (void) session_state_step(state, STATE_ON_WELCOME);
    assert_false(session_state_step(state, STATE_ON_UNSTUCK));
    assert_true(session_state_step(state, STATE_ON_STUCK));
    assert_false(session_state_is_greeted(state));
    /* Since when counts from the first time. */
    assert_false(session_state_step(state, STATE_ON_STUCK));
    assert_false(session_state_step(state, STATE_ON_LINK_CLOSED));
    assert_true(session_state_step(state, STATE_ON_UNSTUCK));
    assert_int_equal(session_state_link(state), LINK_DOWN);
}

static void a_fresh_kernel_has_no_link(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    (void) session_state_step(state, STATE_ON_HELLO);
    assert_true(session_state_step(state, STATE_ON_RELAUNCH));
    assert_int_equal(session_state_link(state), LINK_DOWN);
    assert_false(session_state_step(state, STATE_ON_RELAUNCH));
}

static void requests_wait_until_the_release(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    assert_false(session_state_is_held(state));
    assert_false(session_state_step(state, STATE_ON_END_HELD));
    assert_true(session_state_step(state, STATE_ON_HOLD));
    assert_true(session_state_is_held(state));
    assert_true(session_state_step(state, STATE_ON_END_HELD));
    assert_int_equal(session_state_subscribers(state), SUBSCRIBERS_HELD_ENDED);
    assert_true(session_state_is_held(state));
    assert_false(session_state_step(state, STATE_ON_HOLD));
    assert_true(session_state_step(state, STATE_ON_RELEASE));
    assert_int_equal(session_state_subscribers(state), SUBSCRIBERS_OPEN);
    assert_false(session_state_step(state, STATE_ON_RELEASE));
}

static void a_session_that_is_broken_is_not_drained(void **unused)
{
    cleanup_session_state session_state_t *state = session_state_new();

    (void) unused;
    assert_int_equal(session_state_service(state), SERVICE_FULL);
    assert_true(session_state_step(state, STATE_ON_DRAIN));
    assert_int_equal(session_state_service(state), SERVICE_DRAINING);
    assert_true(session_state_step(state, STATE_ON_BREAK));
    assert_false(session_state_step(state, STATE_ON_DRAIN));
    assert_int_equal(session_state_service(state), SERVICE_BROKEN);
}

static void phases_have_names(void **unused)
{
    (void) unused;
    assert_string_equal(session_phase_name(PHASE_STARTING), "starting");
    assert_string_equal(session_phase_name(PHASE_BUSY), "busy");
    assert_string_equal(session_phase_name(PHASE_GONE), "gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_from_starting_to_gone),
        cmocka_unit_test(each_event_leads_where_it_should),
        cmocka_unit_test(other_events_move_no_phase),
        cmocka_unit_test(the_requested_end_or_restart_follows),
        cmocka_unit_test(a_launch_is_repeated_unless_its_end_is_wanted),
        cmocka_unit_test(an_answer_is_awaited_for_a_repeated_launch),
        cmocka_unit_test(no_answer_is_awaited_of_other_launches),
        cmocka_unit_test(a_launch_is_asked_for_made_and_checked),
        cmocka_unit_test(a_link_is_greeted_once),
        cmocka_unit_test(a_journal_that_fails_cuts_the_link),
        cmocka_unit_test(a_fresh_kernel_has_no_link),
        cmocka_unit_test(requests_wait_until_the_release),
        cmocka_unit_test(a_session_that_is_broken_is_not_drained),
        cmocka_unit_test(phases_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
