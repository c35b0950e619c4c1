/* Subscribers come and go: they are greeted and saved, and after a take-over
 * requests wait until they are back. */
#include "gateway/session/actor/subscribers.h"

#include "gateway/session/core/persist.h"
#include "gateway/session/lifecycle/timers.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)  assert_string_equal(deeds_take(), text)
#define RUNS(name) timers_is_running(self->timers, TIMER_##name)

static void a_session_is_held_until_subscribers_are_back(void **state)
{
    session_t *self = *state;

    fake_outside.subscribers = 2;
    (void) persist_now(self);
    assert_int_equal(self->spec->subscribers, 2);
    fake_session_request(self, "m1", "execute_request");
    fake_session_reply(self);
    fake_outside.subscribers = 0;
    fake_session_take_over(self);
    subscribers_hold(self);
    assert_int_equal(fake_outside.delay_ms, 5000);
    subscribers_open(self);
    DID("listen stdin; listen iopub; listen hb");
    fake_outside.subscribers = 1;
    subscribers_on_new(self);
    DID("");
    subscribers_on_change(self);
    DID("");
    (void) persist_now(self);
    assert_int_equal(self->spec->subscribers, 2);
    fake_outside.subscribers = 2;
    subscribers_on_new(self);
    DID("shell execute_reply ok; iopub idle; listen shell; listen control");
    assert_false(session_state_is_held(self->state));
    assert_true(timers_is_running(self->timers, TIMER_SAVE));
}

static void a_session_waits_no_longer_than_that(void **state)
{
    session_t *self = *state;

    self->spec->subscribers = 1;
    fake_session_take_over(self);
    subscribers_hold(self);
    subscribers_on_hold(self);
    DID("listen shell; listen control");
}

static void without_subscribers_requests_do_not_wait(void **state)
{
    session_t *self = *state;

    fake_session_take_over(self);
    subscribers_hold(self);
    assert_int_equal(fake_outside.delay_ms, 1);
}

static void an_open_session_takes_requests(void **state)
{
    session_t *self = *state;

    (void) deeds_take();
    subscribers_open(self);
    DID("listen stdin; listen iopub; listen hb; listen shell; "
        "listen control");
}

static void a_subscription_is_greeted_and_saved(void **state)
{
    session_t *self = *state;

    (void) deeds_take();
    subscribers_greet(self, true, text_bytes("stream"));
    DID("iopub iopub_welcome");
    assert_true(timers_is_running(self->timers, TIMER_SUBSCRIBED));
    assert_false(timers_is_running(self->timers, TIMER_UNSUBSCRIBED));
    subscribers_greet(self, false, text_bytes("stream"));
    DID("");
    assert_true(timers_is_running(self->timers, TIMER_UNSUBSCRIBED));
    fake_outside.subscribers = 3;
    subscribers_on_new(self);
    assert_int_equal(self->spec->subscribers, 3);
    subscribers_on_change(self);
    assert_true(timers_is_running(self->timers, TIMER_SAVE));
    persist_on_timer(self);
    assert_false(timers_is_running(self->timers, TIMER_SAVE));
}

static void the_subscribers_of_a_tombstone_are_not_saved(void **state)
{
    session_t *self = *state;

    fake_outside.subscribers = 3;
    session_state_step(self->state, STATE_ON_EXIT);
    subscribers_on_new(self);
    subscribers_on_change(self);
    assert_int_equal(self->spec->subscribers, 0);
    assert_false(timers_is_running(self->timers, TIMER_SAVE));
}

static void while_it_is_held_no_count_is_saved(void **state)
{
    session_t *self = *state;

    self->spec->subscribers = 5;
    fake_session_take_over(self);
    subscribers_hold(self);
    fake_outside.subscribers = 3;
    subscribers_on_new(self);
    subscribers_on_change(self);
    assert_int_equal(self->spec->subscribers, 5);
    assert_false(timers_is_running(self->timers, TIMER_SAVE));
}

static void an_end_while_it_is_held_follows(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    self->spec->subscribers = 1;
    fake_session_take_over(self);
    subscribers_hold(self);
    session_state_step(self->state, STATE_ON_END_HELD);
    subscribers_on_hold(self);
    DID("listen shell; listen control; "
        "audit cell_end lost by client=me; audit session_end lost by gateway; "
        "iopub error; "
        "shell execute_reply error; iopub idle; GONE lost; iopub dead");
}

static void a_tombstone_answers_when_it_is_released(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    snprintf(self->spec->end.reason, sizeof self->spec->end.reason, "memory");
    self->spec->end.detail = mem_text("too much");
    fake_session_take_over(self);
    session_state_step(self->state, STATE_ON_FIND_GONE);
    subscribers_hold(self);
    subscribers_on_hold(self);
    DID("listen shell; listen control; iopub error; "
        "shell execute_reply error; iopub idle");
    assert_false(timers_is_running(self->timers, TIMER_SAVE));
}

/* --- When it is released --- */

/* Has the session wait for one subscriber after a take-over. */
static void hold(session_t *self)
{
    fake_outside.subscribers = 0;
    self->spec->subscribers = 1;
    fake_session_take_over(self);
    subscribers_hold(self);
    (void) deeds_take();
}

static void take_process(session_t *self)
{
    fault_t fault;

    assert_int_equal(
        kernel_link_open(self->link, self->spec->runtime_folder, false, &fault),
        0);
    kernel_link_set_process(self->link, 4711, FAKE_LINK_FD + 2);
    (void) deeds_take();
}

static void a_change_may_be_what_was_waited_for(void **state)
{
    session_t *self = *state;

    hold(self);
    fake_outside.subscribers = 1;
    subscribers_on_change(self);
    DID("listen shell; listen control");
    assert_false(RUNS(HOLD));
    subscribers_on_hold(self); /* it is released already */
    DID("");
}

static void frontends_are_listened_to_as_well(void **state)
{
    session_t *self = *state;

    fake_outside.has_frontend = true;
    subscribers_open(self);
    DID("listen stdin; listen iopub; listen hb; listen shell; "
        "listen control; listen http");
}

static void its_kernel_is_greeted(void **state)
{
    session_t *self = *state;

    hold(self);
    take_process(self);
    subscribers_on_hold(self);
    DID("listen shell; listen control; kernel HELLO 1");
    assert_true(session_state_is_greeted(self->state)
                || session_state_link(self->state) == LINK_GREETING);
    assert_false(RUNS(LINK));
}

static void a_kernel_that_takes_no_connection_has_a_moment_to_end(void **state)
{
    session_t *self = *state;

    hold(self);
    take_process(self);
    fake_outside.is_connectable = false;
    subscribers_on_hold(self);
    assert_int_equal(session_state_link(self->state), LINK_DOWN);
    assert_true(RUNS(LINK));
}

static void without_a_process_no_kernel_is_greeted(void **state)
{
    session_t *self = *state;

    hold(self);
    subscribers_on_hold(self);
    DID("listen shell; listen control");
    assert_int_equal(session_state_link(self->state), LINK_DOWN);
}

/* They are of the kernel before the restart. */
static void requests_of_before_a_restart_fail(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    fake_session_note(self, "leaving", 0, "{\"restart\":true}");
    hold(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
    self->cause = (end_cause_t){.reason = END_REASON_DELETED};
    subscribers_on_hold(self);
    DID("iopub error; shell execute_reply error; iopub idle; listen shell; "
        "listen control");
}

/* The end of a cell went out while they were away. */
static void who_is_late_gets_the_end_of_the_last_cell(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    fake_session_reply(self);
    hold(self);
    subscribers_on_hold(self); /* its reply goes out once more */
    DID("shell execute_reply ok; iopub idle; listen shell; listen control");
    fake_outside.subscribers = 1;
    subscribers_on_new(self);
    DID("iopub idle");
    subscribers_on_new(self);
    DID("");
}

/* They are for the time before the subscriber came. */
static void requests_that_wait_are_read_before_it_is_saved(void **state)
{
    session_t *self = *state;

    (void) deeds_take();
    fake_client_sends(CHANNEL_SHELL, "m9", "execute_request",
                      "{\"code\":\"1\"}");
    subscribers_on_new(self);
    DID("kernel EXECUTE; audit cell_start ok by client=me; iopub busy; "
        "iopub execute_input");
}

static void the_next_turn_comes_at_once(void **state)
{
    session_t *self = *state;

    subscribers_greet(self, true, text_bytes("stream"));
    assert_int_equal(fake_outside.delay_ms, 1);
    fake_outside.delay_ms = 0;
    subscribers_greet(self, false, text_bytes("stream"));
    assert_int_equal(fake_outside.delay_ms, 1);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_recorded,         \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_held_until_subscribers_are_back),
        TEST(a_session_waits_no_longer_than_that),
        TEST(without_subscribers_requests_do_not_wait),
        TEST(an_open_session_takes_requests),
        TEST(a_subscription_is_greeted_and_saved),
        TEST(the_subscribers_of_a_tombstone_are_not_saved),
        TEST(while_it_is_held_no_count_is_saved),
        TEST(an_end_while_it_is_held_follows),
        TEST(a_tombstone_answers_when_it_is_released),
        TEST(a_change_may_be_what_was_waited_for),
        TEST(frontends_are_listened_to_as_well),
        TEST(its_kernel_is_greeted),
        TEST(a_kernel_that_takes_no_connection_has_a_moment_to_end),
        TEST(without_a_process_no_kernel_is_greeted),
        TEST(requests_of_before_a_restart_fail),
        TEST(who_is_late_gets_the_end_of_the_last_cell),
        TEST(requests_that_wait_are_read_before_it_is_saved),
        TEST(the_next_turn_comes_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
