#include "gateway/session/interrupt.h"
#include "tests/lib/test.h"

#define GRACE 500

static void expect(interrupt_verdict_t verdict, interrupt_action_t action,
                   int64_t wait_ms)
{
    assert_int_equal(verdict.action, action);
    assert_int_equal(verdict.wait_ms, wait_ms);
}

static interrupt_t *begun(bool kills)
{
    interrupt_t *interrupt = interrupt_new(GRACE);

    expect(interrupt_start(interrupt, kills, 1000), INTERRUPT_SIGNAL, GRACE);
    interrupt_note_signal(interrupt, 7, 100);
    return interrupt;
}

/* A kernel that does not come back gets two signals, and is killed. */
static void escalates_from_signals_to_the_end(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    assert_false(interrupt_is_on(interrupt));
    expect(interrupt_start(interrupt, true, 1000), INTERRUPT_SIGNAL, GRACE);
    assert_true(interrupt_is_on(interrupt));
    interrupt_note_signal(interrupt, 7, 0);
    expect(interrupt_on_timer(interrupt, 0, 1500), INTERRUPT_SIGNAL, GRACE);
    interrupt_note_signal(interrupt, 8, 0);
    expect(interrupt_on_timer(interrupt, 0, 2000), INTERRUPT_KILL, 0);
    expect(interrupt_on_timer(interrupt, 0, 2500), INTERRUPT_NOTHING, 0);
    interrupt_end(interrupt);
    assert_false(interrupt_is_on(interrupt));
}

static void gives_up_if_it_may_not_kill(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);

    (void) state;
    expect(interrupt_on_timer(interrupt, 100, 1500), INTERRUPT_SIGNAL, GRACE);
    expect(interrupt_on_timer(interrupt, 100, 2000), INTERRUPT_DONE, 0);
}

static void an_interrupt_that_may_kill_joins_the_escalation(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);

    (void) state;
    /* The grace of the first one goes on. */
    expect(interrupt_start(interrupt, true, 1200), INTERRUPT_SIGNAL, 0);
    expect(interrupt_on_timer(interrupt, 100, 1500), INTERRUPT_SIGNAL, GRACE);
    expect(interrupt_on_timer(interrupt, 100, 2000), INTERRUPT_KILL, 0);
}

static void an_interrupt_that_may_not_kill_forbids_nothing(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    (void) interrupt_start(interrupt, false, 1200);
    (void) interrupt_on_timer(interrupt, 100, 1500);
    expect(interrupt_on_timer(interrupt, 100, 2000), INTERRUPT_KILL, 0);
}

static void the_grace_restarts_with_the_mark(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    expect(interrupt_on_mark(interrupt, 6), INTERRUPT_NOTHING, 0);
    expect(interrupt_on_mark(interrupt, 7), INTERRUPT_NOTHING, GRACE);
    /* It comes back once. */
    expect(interrupt_on_mark(interrupt, 7), INTERRUPT_NOTHING, 0);
}

static void waits_while_output_before_the_mark_comes(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);
    uint64_t received = 100 + INTERRUPT_MOVED_MIN;

    (void) state;
    expect(interrupt_on_timer(interrupt, received, 1500), INTERRUPT_NOTHING,
           GRACE);
    received += INTERRUPT_MOVED_MIN;
    expect(interrupt_on_timer(interrupt, received, 2000), INTERRUPT_NOTHING,
           GRACE);
    /* A trickle is no output that has to be waited for. */
    received += INTERRUPT_MOVED_MIN - 1;
    expect(interrupt_on_timer(interrupt, received, 2500), INTERRUPT_SIGNAL,
           GRACE);
}

static void waits_for_no_output_after_the_mark(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    (void) interrupt_on_mark(interrupt, 7);
    expect(interrupt_on_timer(interrupt, 100 + INTERRUPT_MOVED_MIN, 1500),
           INTERRUPT_SIGNAL, GRACE);
}

static void waits_for_output_not_for_ever(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);
    uint64_t received = 100 + INTERRUPT_MOVED_MIN;
    int64_t end = 1000 + INTERRUPT_BEHIND_MS;

    (void) state;
    expect(interrupt_on_timer(interrupt, received, end - 1), INTERRUPT_NOTHING,
           GRACE);
    received += INTERRUPT_MOVED_MIN;
    expect(interrupt_on_timer(interrupt, received, end), INTERRUPT_SIGNAL,
           GRACE);
}

static void an_interrupt_without_a_mark_waits_for_nothing(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    (void) interrupt_start(interrupt, true, 1000);
    interrupt_note_signal(interrupt, 0, 100);
    expect(interrupt_on_timer(interrupt, 100 + INTERRUPT_MOVED_MIN, 1500),
           INTERRUPT_SIGNAL, GRACE);
}

static void a_kernel_that_yields_has_more_time_once(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    expect(interrupt_on_yield(interrupt), INTERRUPT_NOTHING,
           INTERRUPT_YIELDED_MS);
    expect(interrupt_on_yield(interrupt), INTERRUPT_NOTHING, 0);
    /* The mark does not shorten it. */
    expect(interrupt_on_mark(interrupt, 7), INTERRUPT_NOTHING, 0);
    interrupt_end(interrupt);
    (void) interrupt_start(interrupt, true, 5000);
    expect(interrupt_on_yield(interrupt), INTERRUPT_NOTHING,
           INTERRUPT_YIELDED_MS);
}

static void a_long_grace_stays_after_a_yield(void **state)
{
    cleanup_interrupt interrupt_t *interrupt =
        interrupt_new(INTERRUPT_YIELDED_MS + 1);

    (void) state;
    (void) interrupt_start(interrupt, true, 1000);
    expect(interrupt_on_yield(interrupt), INTERRUPT_NOTHING,
           INTERRUPT_YIELDED_MS + 1);
}

static void a_limit_may_kill_and_is_known(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    assert_int_equal(interrupt_limit(interrupt), CELL_LIMIT_NONE);
    expect(interrupt_start_for_limit(interrupt, CELL_LIMIT_OUTPUT, 1000),
           INTERRUPT_SIGNAL, GRACE);
    assert_int_equal(interrupt_limit(interrupt), CELL_LIMIT_OUTPUT);
    (void) interrupt_on_timer(interrupt, 0, 1500);
    expect(interrupt_on_timer(interrupt, 0, 2000), INTERRUPT_KILL, 0);
    interrupt_end(interrupt);
    assert_int_equal(interrupt_limit(interrupt), CELL_LIMIT_NONE);
    /* What it permitted ends with it. */
    expect(interrupt_start(interrupt, false, 3000), INTERRUPT_SIGNAL, GRACE);
    (void) interrupt_on_timer(interrupt, 0, 3500);
    expect(interrupt_on_timer(interrupt, 0, 4000), INTERRUPT_DONE, 0);
}

static void a_timer_before_the_beginning_does_nothing(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    expect(interrupt_on_mark(interrupt, 0), INTERRUPT_NOTHING, 0);
    expect(interrupt_on_yield(interrupt), INTERRUPT_NOTHING, 0);
    expect(interrupt_on_timer(interrupt, 0, 1500), INTERRUPT_NOTHING, 0);
    assert_false(interrupt_is_on(interrupt));
}

static void the_token_of_the_request_is_there_once(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    assert_int_equal(interrupt_take_token(interrupt), 0);
    interrupt_await(interrupt, 7);
    (void) interrupt_start(interrupt, false, 0);
    interrupt_end(interrupt);
    assert_int_equal(interrupt_take_token(interrupt), 7);
    assert_int_equal(interrupt_take_token(interrupt), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escalates_from_signals_to_the_end),
        cmocka_unit_test(gives_up_if_it_may_not_kill),
        cmocka_unit_test(an_interrupt_that_may_kill_joins_the_escalation),
        cmocka_unit_test(an_interrupt_that_may_not_kill_forbids_nothing),
        cmocka_unit_test(the_grace_restarts_with_the_mark),
        cmocka_unit_test(waits_while_output_before_the_mark_comes),
        cmocka_unit_test(waits_for_no_output_after_the_mark),
        cmocka_unit_test(waits_for_output_not_for_ever),
        cmocka_unit_test(an_interrupt_without_a_mark_waits_for_nothing),
        cmocka_unit_test(a_kernel_that_yields_has_more_time_once),
        cmocka_unit_test(a_long_grace_stays_after_a_yield),
        cmocka_unit_test(a_limit_may_kill_and_is_known),
        cmocka_unit_test(a_timer_before_the_beginning_does_nothing),
        cmocka_unit_test(the_token_of_the_request_is_there_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
