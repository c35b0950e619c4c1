#include "gateway/session/kernel/interrupt.h"
#include "tests/lib/test.h"

#define GRACE 10000
#define WAIT  INTERRUPT_ANSWER_MS /* to the next look within the grace */
#define START 1000

static void expect(interrupt_verdict_t verdict, interrupt_action_t action,
                   int64_t wait_ms)
{
    assert_int_equal(verdict.action, action);
    assert_int_equal(verdict.wait_ms, wait_ms);
}

static interrupt_t *begun(bool kills)
{
    interrupt_t *interrupt = interrupt_new(GRACE);

    interrupt_set_reports(interrupt, true);
    expect(interrupt_start(interrupt, kills, START), INTERRUPT_SIGNAL, WAIT);
    interrupt_note_signal(interrupt, 7, 100);
    return interrupt;
}

/* Looks until something is to be done. Returns when, from `now` on. */
static int64_t until(interrupt_t *interrupt, interrupt_action_t action,
                     int64_t now)
{
    interrupt_verdict_t verdict = {INTERRUPT_NOTHING, WAIT};

    while (verdict.action == INTERRUPT_NOTHING && verdict.wait_ms) {
        now += verdict.wait_ms;
        verdict = interrupt_on_timer(interrupt, 100, now);
    }
    assert_int_equal(verdict.action, action);
    if (action == INTERRUPT_SIGNAL)
        interrupt_note_signal(interrupt, 8, 100);
    return now;
}

/* C code keeps the first signal from Python: it gets another one. */
static void escalates_from_signals_to_the_end(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);
    int64_t now;

    (void) state;
    assert_false(interrupt_is_on(interrupt));
    assert_false(interrupt_is_kept(interrupt));
    interrupt_set_reports(interrupt, true);
    expect(interrupt_start(interrupt, true, START), INTERRUPT_SIGNAL, WAIT);
    assert_true(interrupt_is_on(interrupt));
    assert_true(interrupt_is_kept(interrupt));
    interrupt_note_signal(interrupt, 7, 0);
    now = until(interrupt, INTERRUPT_SIGNAL, START);
    assert_int_equal(now, START + GRACE);
    now = until(interrupt, INTERRUPT_KILL, now);
    assert_int_equal(now, START + 2 * GRACE);
    expect(interrupt_on_timer(interrupt, 0, now + 1), INTERRUPT_NOTHING, 0);
    interrupt_end(interrupt);
    assert_false(interrupt_is_on(interrupt));
}

static void gives_up_if_it_may_not_kill(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);
    int64_t now;

    (void) state;
    now = until(interrupt, INTERRUPT_SIGNAL, START);
    assert_int_equal(now, START + GRACE);
    now = until(interrupt, INTERRUPT_DONE, now);
    assert_int_equal(now, START + 2 * GRACE);
}

/* Python code that handles it has the whole grace. */
static void a_signal_that_is_handled_is_the_only_one(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    assert_false(interrupt_is_handled(interrupt));
    expect(interrupt_on_strike(interrupt, true, START + 300), INTERRUPT_NOTHING,
           WAIT);
    assert_true(interrupt_is_handled(interrupt));
    assert_false(interrupt_is_kept(interrupt));
    /* It does not count from there again. */
    expect(interrupt_on_strike(interrupt, true, START + 900), INTERRUPT_NOTHING,
           0);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, START + 300),
                     START + 300 + GRACE);
}

static void a_handler_that_nothing_ends_is_left_alone_soon(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);

    (void) state;
    (void) interrupt_on_strike(interrupt, true, START + 1);
    expect(interrupt_on_timer(interrupt, 100, START + WAIT - 1),
           INTERRUPT_NOTHING, WAIT);
    expect(interrupt_on_timer(interrupt, 100, START + WAIT), INTERRUPT_DONE, 0);
}

/* A kernel of an older version says nothing: Python may have got it. */
static void a_kernel_that_does_not_report_gets_one_signal(void **state)
{
    cleanup_interrupt interrupt_t *gentle = interrupt_new(GRACE);
    cleanup_interrupt interrupt_t *limit = interrupt_new(GRACE);

    (void) state;
    (void) interrupt_start(gentle, false, START);
    interrupt_note_signal(gentle, 7, 100);
    assert_false(interrupt_is_handled(gentle));
    assert_false(interrupt_is_kept(gentle));
    assert_int_equal(until(gentle, INTERRUPT_DONE, START), START + WAIT);
    (void) interrupt_start_for_limit(limit, CELL_LIMIT_TIME, START);
    interrupt_note_signal(limit, 7, 100);
    assert_int_equal(until(limit, INTERRUPT_KILL, START), START + GRACE);
}

/* It is known for the next cell of the same kernel, too. */
static void what_a_kernel_reports_outlives_the_escalation(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    interrupt_end(interrupt);
    assert_true(interrupt_is_kept(interrupt));
    (void) interrupt_start(interrupt, true, START);
    interrupt_note_signal(interrupt, 9, 100);
    assert_int_equal(until(interrupt, INTERRUPT_SIGNAL, START), START + GRACE);
}

static void a_signal_that_meets_no_code_is_repeated(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);
    int64_t now = START + 10;

    (void) state;
    expect(interrupt_on_strike(interrupt, false, now), INTERRUPT_NOTHING,
           INTERRUPT_RETRY_MS);
    assert_false(interrupt_is_handled(interrupt));
    now += INTERRUPT_RETRY_MS;
    expect(interrupt_on_timer(interrupt, 100, now), INTERRUPT_SIGNAL, WAIT);
    /* The grace goes on: the mark of this one does not count. */
    interrupt_note_signal(interrupt, 8, 100);
    expect(interrupt_on_mark(interrupt, 8, now), INTERRUPT_NOTHING, 0);
    expect(interrupt_on_strike(interrupt, true, now), INTERRUPT_NOTHING, WAIT);
    /* An answer that comes late changes nothing. */
    expect(interrupt_on_strike(interrupt, false, now), INTERRUPT_NOTHING, 0);
    assert_int_equal(until(interrupt, INTERRUPT_DONE, now), START + 2060);
}

static void code_that_has_ended_is_not_signalled_again(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);

    (void) state;
    (void) interrupt_on_strike(interrupt, false, START);
    (void) interrupt_on_yield(interrupt, START);
    expect(interrupt_on_strike(interrupt, false, START), INTERRUPT_NOTHING, 0);
    assert_int_equal(until(interrupt, INTERRUPT_DONE, START),
                     START + INTERRUPT_YIELDED_MS);
}

static void a_client_that_waits_gets_what_is_known(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);
    int64_t now;

    (void) state;
    interrupt_await(interrupt, 3, false);
    now = until(interrupt, INTERRUPT_ANSWER, START);
    assert_int_equal(now, START + INTERRUPT_ANSWER_MS);
    assert_int_equal(interrupt_take_token(interrupt), 3);
    /* Once, and the escalation goes on. */
    assert_int_equal(until(interrupt, INTERRUPT_SIGNAL, now), START + GRACE);
}

static void a_client_that_kills_waits_for_the_end(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    interrupt_await(interrupt, 3, true);
    (void) interrupt_on_strike(interrupt, true, START);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, START), START + GRACE);
    assert_int_equal(interrupt_take_token(interrupt), 3);
}

static void a_client_waits_for_a_traceback(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);

    (void) state;
    interrupt_await(interrupt, 3, false);
    (void) interrupt_on_yield(interrupt, START);
    assert_int_equal(until(interrupt, INTERRUPT_DONE, START),
                     START + INTERRUPT_YIELDED_MS);
}

/* A kernel that is not ended has as long as the client waits. */
static void a_short_grace_is_for_ends(void **state)
{
    cleanup_interrupt interrupt_t *gentle = interrupt_new(100);
    cleanup_interrupt interrupt_t *limit = interrupt_new(100);

    (void) state;
    (void) interrupt_start(gentle, false, START);
    interrupt_note_signal(gentle, 7, 100);
    (void) interrupt_on_mark(gentle, 7, START);
    (void) interrupt_on_strike(gentle, true, START);
    assert_int_equal(until(gentle, INTERRUPT_DONE, START), START + WAIT);
    expect(interrupt_start_for_limit(limit, CELL_LIMIT_TIME, START),
           INTERRUPT_SIGNAL, 100);
    expect(interrupt_on_timer(limit, 100, START + 100), INTERRUPT_KILL, 0);
}

static void an_interrupt_that_may_kill_joins_the_escalation(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);
    int64_t now;

    (void) state;
    /* The grace of the first one goes on. */
    expect(interrupt_start(interrupt, true, START + 200), INTERRUPT_SIGNAL,
           WAIT);
    interrupt_note_signal(interrupt, 9, 100);
    expect(interrupt_on_mark(interrupt, 9, START + 300), INTERRUPT_NOTHING, 0);
    now = until(interrupt, INTERRUPT_SIGNAL, START + 200);
    assert_int_equal(now, START + GRACE);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, now), START + 2 * GRACE);
}

static void an_interrupt_that_may_not_kill_forbids_nothing(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    (void) interrupt_on_strike(interrupt, true, START);
    (void) interrupt_start(interrupt, false, START + 200);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, START), START + GRACE);
}

static void the_grace_restarts_with_the_mark(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    expect(interrupt_on_mark(interrupt, 6, START + 500), INTERRUPT_NOTHING, 0);
    expect(interrupt_on_mark(interrupt, 7, START + 500), INTERRUPT_NOTHING,
           WAIT);
    /* It comes back once. */
    expect(interrupt_on_mark(interrupt, 7, START + 700), INTERRUPT_NOTHING, 0);
    assert_int_equal(until(interrupt, INTERRUPT_SIGNAL, START + 500),
                     START + 500 + GRACE);
}

static void waits_while_output_before_the_mark_comes(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);
    uint64_t received = 100 + INTERRUPT_MOVED_MIN;
    int64_t now = START + WAIT;

    (void) state;
    expect(interrupt_on_timer(interrupt, received, now), INTERRUPT_NOTHING,
           WAIT);
    received += INTERRUPT_MOVED_MIN;
    now += WAIT;
    expect(interrupt_on_timer(interrupt, received, now), INTERRUPT_NOTHING,
           WAIT);
    /* A trickle is no output that has to be waited for. */
    received += INTERRUPT_MOVED_MIN - 1;
    expect(interrupt_on_timer(interrupt, received, now + GRACE),
           INTERRUPT_SIGNAL, WAIT);
}

static void waits_for_no_output_after_the_mark(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    (void) interrupt_on_mark(interrupt, 7, START);
    expect(
        interrupt_on_timer(interrupt, 100 + INTERRUPT_MOVED_MIN, START + GRACE),
        INTERRUPT_SIGNAL, WAIT);
}

static void waits_for_output_not_for_ever(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);
    uint64_t received = 100 + INTERRUPT_MOVED_MIN;
    int64_t end = START + INTERRUPT_BEHIND_MS;

    (void) state;
    expect(interrupt_on_timer(interrupt, received, end - 1), INTERRUPT_NOTHING,
           WAIT);
    received += INTERRUPT_MOVED_MIN;
    expect(interrupt_on_timer(interrupt, received, end - 1 + GRACE),
           INTERRUPT_SIGNAL, WAIT);
}

/* Nothing that the kernel says is heard: Python may have got the signal. */
static void an_interrupt_without_a_mark_waits_for_nothing(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    interrupt_set_reports(interrupt, true);
    (void) interrupt_start(interrupt, true, START);
    interrupt_note_signal(interrupt, 0, 100);
    assert_false(interrupt_is_kept(interrupt));
    expect(
        interrupt_on_timer(interrupt, 100 + INTERRUPT_MOVED_MIN, START + GRACE),
        INTERRUPT_KILL, 0);
}

static void a_kernel_that_yields_has_more_time_once(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(true);

    (void) state;
    expect(interrupt_on_yield(interrupt, START), INTERRUPT_NOTHING, WAIT);
    assert_true(interrupt_is_handled(interrupt));
    expect(interrupt_on_yield(interrupt, START + 10), INTERRUPT_NOTHING, 0);
    /* Neither the mark nor a limit shortens it. */
    expect(interrupt_on_mark(interrupt, 7, START + 10), INTERRUPT_NOTHING, 0);
    expect(interrupt_start_for_limit(interrupt, CELL_LIMIT_TIME, START + 10),
           INTERRUPT_NOTHING, WAIT);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, START),
                     START + INTERRUPT_YIELDED_MS);
    interrupt_end(interrupt);
    (void) interrupt_start(interrupt, true, 50000);
    (void) interrupt_on_yield(interrupt, 50000);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, 50000),
                     50000 + INTERRUPT_YIELDED_MS);
}

static void a_long_grace_stays_after_a_yield(void **state)
{
    cleanup_interrupt interrupt_t *interrupt =
        interrupt_new(INTERRUPT_YIELDED_MS + 1);

    (void) state;
    (void) interrupt_start(interrupt, true, START);
    (void) interrupt_on_yield(interrupt, START);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, START),
                     START + INTERRUPT_YIELDED_MS + 1);
}

static void a_limit_may_kill_and_is_known(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    assert_int_equal(interrupt_limit(interrupt), CELL_LIMIT_NONE);
    expect(interrupt_start_for_limit(interrupt, CELL_LIMIT_OUTPUT, START),
           INTERRUPT_SIGNAL, WAIT);
    assert_int_equal(interrupt_limit(interrupt), CELL_LIMIT_OUTPUT);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, START), START + GRACE);
    interrupt_end(interrupt);
    assert_int_equal(interrupt_limit(interrupt), CELL_LIMIT_NONE);
    /* What it permitted ends with it. */
    (void) interrupt_start(interrupt, false, 50000);
    assert_int_equal(until(interrupt, INTERRUPT_DONE, 50000), 50000 + WAIT);
}

/* A handler is at work: the limit leaves it the grace, and no signal. */
static void a_limit_joins_an_interrupt_without_a_signal(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = begun(false);

    (void) state;
    (void) interrupt_on_strike(interrupt, true, START);
    expect(interrupt_start_for_limit(interrupt, CELL_LIMIT_TIME, START + 500),
           INTERRUPT_NOTHING, WAIT);
    assert_int_equal(interrupt_limit(interrupt), CELL_LIMIT_TIME);
    /* The first of two limits counts. */
    expect(interrupt_start_for_limit(interrupt, CELL_LIMIT_OUTPUT, START + 900),
           INTERRUPT_NOTHING, WAIT);
    assert_int_equal(interrupt_limit(interrupt), CELL_LIMIT_TIME);
    assert_int_equal(until(interrupt, INTERRUPT_KILL, START + 500),
                     START + 500 + GRACE);
}

static void a_timer_before_the_beginning_does_nothing(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    expect(interrupt_on_mark(interrupt, 0, 1500), INTERRUPT_NOTHING, 0);
    expect(interrupt_on_strike(interrupt, true, 1500), INTERRUPT_NOTHING, 0);
    expect(interrupt_on_yield(interrupt, 1500), INTERRUPT_NOTHING, 0);
    expect(interrupt_on_timer(interrupt, 0, 1500), INTERRUPT_NOTHING, 0);
    assert_false(interrupt_is_on(interrupt));
}

static void the_token_of_the_request_is_there_once(void **state)
{
    cleanup_interrupt interrupt_t *interrupt = interrupt_new(GRACE);

    (void) state;
    assert_int_equal(interrupt_take_token(interrupt), 0);
    interrupt_await(interrupt, 7, false);
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
        cmocka_unit_test(a_signal_that_is_handled_is_the_only_one),
        cmocka_unit_test(a_handler_that_nothing_ends_is_left_alone_soon),
        cmocka_unit_test(a_kernel_that_does_not_report_gets_one_signal),
        cmocka_unit_test(what_a_kernel_reports_outlives_the_escalation),
        cmocka_unit_test(a_signal_that_meets_no_code_is_repeated),
        cmocka_unit_test(code_that_has_ended_is_not_signalled_again),
        cmocka_unit_test(a_client_that_waits_gets_what_is_known),
        cmocka_unit_test(a_client_that_kills_waits_for_the_end),
        cmocka_unit_test(a_client_waits_for_a_traceback),
        cmocka_unit_test(a_short_grace_is_for_ends),
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
        cmocka_unit_test(a_limit_joins_an_interrupt_without_a_signal),
        cmocka_unit_test(a_timer_before_the_beginning_does_nothing),
        cmocka_unit_test(the_token_of_the_request_is_there_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
