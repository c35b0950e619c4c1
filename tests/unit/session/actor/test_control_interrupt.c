/* Interrupts that the registry asks for: which request is meant, how a kernel
 * that goes on is ended, and the answers. */
#include "gateway/session/actor/control.h"

#include "gateway/session/actor/receive.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/request_queue.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static void take(session_t *self, session_command_t *command)
{
    control_take(self, &command);
    assert_null(command);
}

static void interrupt(session_t *self, uint64_t token, bool kills)
{
    session_command_t *made = session_command_new(SESSION_INTERRUPT, token);

    made->interrupt.kills = kills;
    take(self, made);
}

static void interrupt_one(session_t *self, uint64_t token, const char *msg_id)
{
    session_command_t *made = session_command_new(SESSION_INTERRUPT, token);

    made->interrupt.msg_id = mem_text(msg_id);
    take(self, made);
}

static void an_interrupt_has_an_outcome(void **state)
{
    session_t *self = *state;

    interrupt(self, 7, false);
    DID("ANSWERED 7 ok idle");
    fake_session_run(self);
    interrupt(self, 8, false);
    DID("command I; kernel MARK");
    interrupt(self, 9, true);
    DID("ANSWERED 8 ok running; command I; kernel MARK");
    escalation_end(self, "interrupted", "preserved");
    DID("ANSWERED 9 ok interrupted");
    escalation_end(self, "interrupted", "preserved");
    DID("");
}

/* Interrupts a cell by its msg_id: another client's cell is left alone. */
static void an_interrupt_of_one_request(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    fake_client_sends(CHANNEL_SHELL, "next", "execute_request",
                      "{\"code\":\"2\"}");
    receive_on_shell(NULL, NULL, self);
    (void) deeds_take();
    interrupt_one(self, 7, "next");
    DID("iopub busy; shell execute_reply aborted; iopub idle; "
        "ANSWERED 7 ok aborted");
    assert_int_equal(request_queue_size(self->requests), 0);
    interrupt_one(self, 8, "next");
    DID("ANSWERED 8 ok idle");
    interrupt_one(self, 9, "cell");
    DID("command I; kernel MARK");
}

/* Only cells can be aborted. */
static void an_interrupt_of_a_request_that_is_no_cell(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    fake_session_request(self, "next", "complete_request");
    (void) deeds_take();
    interrupt_one(self, 7, "next");
    DID("ANSWERED 7 ok idle");
    assert_int_equal(request_queue_size(self->requests), 1);
}

/* Commands and requests come by different sockets, in no order. */
static void an_interrupt_that_overtakes_its_request(void **state)
{
    session_t *self = *state;

    interrupt_one(self, 7, "early");
    DID("ANSWERED 7 ok idle");
    fake_client_sends(CHANNEL_SHELL, "early", "execute_request",
                      "{\"code\":\"2\"}");
    receive_on_shell(NULL, NULL, self);
    DID("iopub busy; shell execute_reply aborted; iopub idle");
    assert_null(request_queue_running(self->requests));
    assert_int_equal(request_queue_size(self->requests), 0);
    fake_session_run(self);
    assert_non_null(request_queue_running(self->requests));
}

/* Lets time pass until the cell has no kernel, or for longer than any grace. */
static void pass_time(session_t *self)
{
    for (int i = 0; i < 40 && session_state_is(self->state, PHASE_BUSY); i++) {
        fake_outside.now_ms += 1000;
        escalation_on_timer(self);
    }
}

static void a_kernel_that_ignores_interrupts_is_killed(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    (void) deeds_take();
    pass_time(self);
    DID("command I; kernel MARK; kill");
    assert_int_equal(self->cause.reason, END_REASON_SIGNAL);
    assert_non_null(strstr(
        self->cause.detail,
        "the cell was interrupted, did not let Python have two interrupts"));
}

/* Code that handles it is known to be at work, which is said early. */
static void a_handler_gets_one_signal(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, false);
    escalation_on_strike(self, fake_running(self), true);
    DID("command I; kernel MARK");
    pass_time(self);
    DID("ANSWERED 7 ok handling");
    assert_false(interrupt_is_on(self->interrupt));
    interrupt(self, 8, true);
    escalation_on_strike(self, fake_running(self), true);
    pass_time(self);
    DID("command I; kernel MARK; kill");
    assert_non_null(strstr(self->cause.detail, "did not end in the grace"));
}

/* It got the first one before any code of the cell ran, or another request's.
 */
static void an_interrupt_that_met_no_code_is_repeated(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, false);
    (void) deeds_take();
    escalation_on_strike(self, 0, false);
    escalation_on_timer(self);
    DID("command I; kernel MARK");
    escalation_on_strike(self, fake_running(self) + 1, true);
    escalation_on_timer(self);
    DID("command I; kernel MARK");
    escalation_on_strike(self, fake_running(self), true);
    escalation_on_timer(self);
    DID("");
}

static void a_second_request_is_a_second_signal(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, false);
    escalation_on_strike(self, fake_running(self), true);
    interrupt(self, 8, false);
    DID("command I; kernel MARK; ANSWERED 7 ok handling; command I; kernel "
        "MARK");
}

static void a_kernel_survives_an_interrupt_that_may_not_kill(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, false);
    pass_time(self);
    assert_non_null(strstr(deeds_take(), "ANSWERED 7 ok running"));
    assert_true(session_state_is(self->state, PHASE_BUSY));
}

static void a_limit_kills_and_says_which(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    escalation_begin_for_limit(self, CELL_LIMIT_TIME);
    pass_time(self);
    assert_int_equal(self->cause.reason, END_REASON_WALL);
    assert_non_null(strstr(self->cause.detail, "past its time limit, did"));
}

/* The grace counts from the kernel's answer to the mark. */
static void the_mark_begins_the_grace(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    timers_stop(self->timers, TIMER_INTERRUPT);
    escalation_on_mark(self, fake_outside.sent + 1);
    assert_false(timers_is_running(self->timers, TIMER_INTERRUPT));
    escalation_on_mark(self, fake_outside.sent);
    assert_true(timers_is_running(self->timers, TIMER_INTERRUPT));
}

/* It could not come back. */
static void without_a_link_no_mark_is_awaited(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    session_state_step(self->state, STATE_ON_HELLO);
    interrupt(self, 7, true);
    DID("command I");
    timers_stop(self->timers, TIMER_INTERRUPT);
    escalation_on_mark(self, fake_outside.sent);
    assert_false(timers_is_running(self->timers, TIMER_INTERRUPT));
}

static void only_the_running_request_yields(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    interrupt(self, 7, true);
    (void) deeds_take();
    escalation_on_yield(self, fake_running(self) + 1);
    assert_false(interrupt_is_handled(self->interrupt));
    escalation_on_yield(self, fake_running(self));
    assert_true(interrupt_is_handled(self->interrupt));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_interrupt_has_an_outcome),
        TEST(an_interrupt_of_one_request),
        TEST(an_interrupt_of_a_request_that_is_no_cell),
        TEST(an_interrupt_that_overtakes_its_request),
        TEST(a_kernel_that_ignores_interrupts_is_killed),
        TEST(a_handler_gets_one_signal),
        TEST(an_interrupt_that_met_no_code_is_repeated),
        TEST(a_second_request_is_a_second_signal),
        TEST(a_kernel_survives_an_interrupt_that_may_not_kill),
        TEST(a_limit_kills_and_says_which),
        TEST(the_mark_begins_the_grace),
        TEST(without_a_link_no_mark_is_awaited),
        TEST(only_the_running_request_yields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
