/* The interrupt of a running cell as the session carries it out: the signal
 * with its mark, the outcome for the client that waits, and the end of the
 * kernel with its reason. interrupt.h decides; its test has the rules. */
#include "gateway/session/core/escalation.h"

#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/request_queue.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static void interrupt(session_t *self, uint64_t token, bool kills)
{
    interrupt_await(self->interrupt, token, kills);
    escalation_begin(self, kills);
}

/* Lets time pass until the cell has no kernel, or for longer than any grace. */
static void pass_time(session_t *self)
{
    for (int i = 0; i < 40 && session_state_is(self->state, PHASE_BUSY); i++) {
        fake_outside.now_ms += 1000;
        escalation_on_timer(self);
    }
}

/* Returns true if the mark with that number begins the grace. */
static bool awaits_mark(session_t *self, uint64_t number)
{
    timers_stop(self->timers, TIMER_INTERRUPT);
    escalation_on_mark(self, number);
    return timers_is_running(self->timers, TIMER_INTERRUPT);
}

static bool detail_has(const session_t *self, const char *text)
{
    return strstr(self->cause.detail, text) != NULL;
}

/* --- Outcomes --- */

static void without_a_cell_there_is_nothing_to_interrupt(void **state)
{
    session_t *self = *state;

    interrupt(self, 7, true);
    DID("ANSWERED 7 ok idle");
    interrupt_await(self->interrupt, 8, false);
    escalation_begin_for_limit(self, CELL_LIMIT_TIME);
    DID("ANSWERED 8 ok idle");
    escalation_begin(self, true); /* and no client waits */
    DID("");
    assert_false(interrupt_is_on(self->interrupt));
}

static void without_a_kernel_there_is_nothing_to_interrupt(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_READY);
    session_state_step(self->state, STATE_ON_BEGIN);
    assert_true(session_state_is(self->state, PHASE_BUSY));
    interrupt(self, 7, true);
    DID("ANSWERED 7 ok idle");
    escalation_on_timer(self);
    DID("");
}

static void a_client_gets_one_outcome(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, false);
    DID("command I; kernel MARK");
    escalation_answer(self, "interrupted", "preserved");
    DID("ANSWERED 7 ok interrupted");
    escalation_answer(self, "interrupted", "preserved");
    DID("");
    assert_true(interrupt_is_on(self->interrupt));
}

static void an_early_outcome_is_what_is_known(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, false);
    (void) deeds_take();
    escalation_answer_known(self);
    DID("ANSWERED 7 ok running");
    escalation_on_strike(self, fake_running(self), true);
    interrupt_await(self->interrupt, 8, false);
    escalation_answer_known(self);
    DID("ANSWERED 8 ok handling");
}

static void an_end_stops_the_timer(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    (void) deeds_take();
    assert_true(timers_is_running(self->timers, TIMER_INTERRUPT));
    escalation_end(self, "killed", "lost");
    DID("ANSWERED 7 ok killed");
    assert_false(timers_is_running(self->timers, TIMER_INTERRUPT));
    assert_false(interrupt_is_on(self->interrupt));
}

static void a_client_that_may_not_kill_has_an_answer_in_time(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, false);
    escalation_on_strike(self, fake_running(self), true);
    (void) deeds_take();
    pass_time(self);
    DID("ANSWERED 7 ok handling");
    assert_true(session_state_is(self->state, PHASE_BUSY));
    assert_false(interrupt_is_on(self->interrupt));
}

/* --- Signals and marks --- */

static void a_mark_follows_the_signal(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    DID("command I; kernel MARK");
    assert_false(awaits_mark(self, fake_outside.sent + 1));
    assert_true(awaits_mark(self, fake_outside.sent));
    assert_false(awaits_mark(self, fake_outside.sent)); /* it came */
}

static void a_mark_that_was_not_sent_is_not_awaited(void **state)
{
    session_t *self = *state;
    uint64_t next;

    fake_session_run(self);
    next = request_queue_number(self->requests) + 1;
    fake_outside.is_mute = true;
    interrupt(self, 7, true);
    DID("command I");
    assert_false(awaits_mark(self, next));
}

static void without_a_greeting_no_mark_is_sent(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    session_state_step(self->state, STATE_ON_HELLO);
    interrupt(self, 7, true);
    DID("command I");
}

static void a_strike_counts_if_it_met_the_running_code(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    (void) deeds_take();
    escalation_on_strike(self, fake_running(self), false);
    assert_false(interrupt_is_handled(self->interrupt));
    escalation_on_timer(self); /* so it is repeated */
    DID("command I; kernel MARK");
    escalation_on_strike(self, fake_running(self) + 1, true);
    assert_false(interrupt_is_handled(self->interrupt));
    escalation_on_strike(self, fake_running(self), true);
    assert_true(interrupt_is_handled(self->interrupt));
    escalation_on_timer(self);
    DID("");
}

static void only_the_running_request_yields(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    escalation_on_yield(self, fake_running(self) + 1);
    assert_false(interrupt_is_handled(self->interrupt));
    escalation_on_yield(self, fake_running(self));
    assert_true(interrupt_is_handled(self->interrupt));
}

static void a_timer_after_the_cell_does_nothing(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    (void) deeds_take();
    session_state_step(self->state, STATE_ON_END);
    fake_outside.now_ms += 100000;
    escalation_on_timer(self);
    DID("");
}

/* --- The end of the kernel --- */

static void each_kill_has_its_reason(void **state)
{
    static const struct {
        cell_limit_t limit;
        end_reason_t reason;
        const char *text;
    } kills[] = {
        {CELL_LIMIT_TIME, END_REASON_WALL, "the cell ran past its time limit"},
        {CELL_LIMIT_OUTPUT, END_REASON_OUTPUT, ", did not end in the grace"},
    };

    for (size_t i = 0; i < sizeof kills / sizeof *kills; i++) {
        session_t *self = *state;

        fake_session_run(self);
        escalation_begin_for_limit(self, kills[i].limit);
        escalation_on_strike(self, fake_running(self), true);
        (void) deeds_take();
        pass_time(self);
        assert_int_equal(self->cause.reason, kills[i].reason);
        assert_true(detail_has(self, kills[i].text));
        assert_true(detail_has(self, "and its kernel was killed"));
        assert_int_equal(fake_session_end(state), 0);
        assert_int_equal(fake_session_begin_ready(state), 0);
    }
}

static void a_kill_says_whether_the_code_could_have_ended(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    pass_time(self);
    DID("command I; kernel MARK; command I; kernel MARK; kill");
    assert_int_equal(self->cause.reason, END_REASON_SIGNAL);
    assert_true(detail_has(self, "the cell was interrupted, did not let Python "
                                 "have two interrupts, and its kernel"));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_cell_there_is_nothing_to_interrupt),
        cmocka_unit_test_setup_teardown(
            without_a_kernel_there_is_nothing_to_interrupt, fake_session_begin,
            fake_session_end),
        TEST(a_client_gets_one_outcome),
        TEST(an_early_outcome_is_what_is_known),
        TEST(an_end_stops_the_timer),
        TEST(a_client_that_may_not_kill_has_an_answer_in_time),
        TEST(a_mark_follows_the_signal),
        TEST(a_mark_that_was_not_sent_is_not_awaited),
        TEST(without_a_greeting_no_mark_is_sent),
        TEST(a_strike_counts_if_it_met_the_running_code),
        TEST(only_the_running_request_yields),
        TEST(a_timer_after_the_cell_does_nothing),
        TEST(each_kill_has_its_reason),
        TEST(a_kill_says_whether_the_code_could_have_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
