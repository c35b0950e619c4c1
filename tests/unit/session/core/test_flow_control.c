/* The bounds between a kernel and its peers: a kernel is held, a peer is
 * disconnected, or a kernel has to end. */
#include "gateway/session/core/flow_control.h"

#include "gateway/gate/port.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/backpressure.h"
#include "gateway/session/limits/held_memory.h"
#include "gateway/session/requests/request_queue.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define MOST      ((size_t) 1 << 20) /* bytes that peers may leave untaken */
#define PATIENCE  10000

static bool waits;       /* the port of iopub knows that the session waits */
static unsigned dropped; /* subscribers that the port has ended for that */

void __wrap_gate_port_wait(gate_port_t *self, bool is_waiting);
unsigned __wrap_gate_port_take_ended(gate_port_t *self);

void __wrap_gate_port_wait(gate_port_t *self, bool is_waiting)
{
    (void) self;
    waits = is_waiting;
}

unsigned __wrap_gate_port_take_ended(gate_port_t *self)
{
    unsigned count = dropped;

    (void) self;
    dropped = 0;
    return count;
}

static int begin(void **state)
{
    waits = false;
    dropped = 0;
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    return 0;
}

static bool looks(const session_t *self)
{
    return timers_is_running(self->timers, TIMER_OUTPUTS);
}

/* Gives the session a budget that others have used up. */
static memory_budget_t *use_up(session_t *self)
{
    memory_budget_t *budget = memory_budget_new(4 << 20);
    static memory_share_t others;

    others = (memory_share_t){.budget = budget};
    held_memory_destroy(&self->limits.memory);
    self->limits.memory = held_memory_new(budget, PATIENCE);
    memory_share_set(&others, 8 << 20);
    return budget;
}

/* Ends the budget of use_up. */
static void give_back(session_t *self, memory_budget_t *budget)
{
    held_memory_destroy(&self->limits.memory);
    memory_budget_destroy(&budget);
}

/* --- The kernel's output --- */

static void a_kernel_is_read_up_to_the_bound(void **state)
{
    session_t *self = *state;

    fake_outside.backlog = fake_outside.replies = MOST;
    assert_true(flow_control_may_read(self));
    assert_false(looks(self));
    assert_true(fake_outside.is_read);
    assert_false(waits);
    fake_outside.replies = MOST + 1;
    assert_false(flow_control_may_read(self));
    fake_outside.replies = 0;
    fake_outside.backlog = MOST + 1;
    assert_false(flow_control_may_read(self));
    assert_true(looks(self));
    assert_int_equal(fake_outside.delay_ms, 2);
    assert_false(fake_outside.is_read);
    assert_true(waits);
}

static void before_the_sockets_are_bound_nothing_waits(void **state)
{
    session_t *self = *state;

    fake_outside.backlog = fake_outside.replies = MOST + 1;
    self->channels = NULL;
    assert_true(flow_control_may_read(self));
}

static void a_kernel_that_is_interrupted_or_stopped_is_read(void **state)
{
    session_t *self = *state;

    fake_outside.backlog = MOST + 1;
    (void) interrupt_start(self->interrupt, false, fake_outside.now_ms);
    assert_true(flow_control_may_read(self));
    interrupt_end(self->interrupt);
    assert_false(flow_control_may_read(self));
    session_state_step(self->state, STATE_ON_STOP);
    assert_true(flow_control_look(self));
}

static void reading_goes_on_when_peers_have_taken_enough(void **state)
{
    session_t *self = *state;

    fake_outside.backlog = MOST + 1;
    assert_false(flow_control_may_read(self));
    timers_stop(self->timers, TIMER_OUTPUTS);
    assert_false(flow_control_look(self));
    assert_true(looks(self));
    assert_false(fake_outside.is_read);
    fake_outside.backlog = MOST / 2;
    assert_true(flow_control_look(self));
    assert_false(backpressure_is_holding(self->limits.backpressure));
    assert_true(fake_outside.is_read);
    assert_false(waits);
}

static void a_hold_ends_with_the_kernel(void **state)
{
    session_t *self = *state;

    fake_outside.backlog = MOST + 1;
    assert_false(flow_control_may_read(self));
    timers_stop(self->timers, TIMER_OUTPUTS);
    kernel_link_close(self->link);
    assert_false(flow_control_look(self));
    assert_false(looks(self));
    assert_false(backpressure_is_holding(self->limits.backpressure));
    assert_false(waits);
}

/* The port ends a slow subscriber before the session does. */
static void a_subscriber_that_the_port_has_ended_is_owed_the_end(void **state)
{
    session_t *self = *state;

    fake_outside.backlog = MOST + 1;
    assert_false(flow_control_may_read(self));
    dropped = 2;
    assert_false(flow_control_look(self));
    assert_true(backpressure_give(self->limits.backpressure));
    assert_true(backpressure_give(self->limits.backpressure));
    assert_false(backpressure_give(self->limits.backpressure));
}

static void slow_subscribers_are_cut_and_owed_the_end(void **state)
{
    session_t *self = *state;

    fake_client_sends(CHANNEL_SHELL, "cell", "execute_request",
                      "{\"code\":\"1\"}");
    receive_on_shell(NULL, NULL, self);
    (void) deeds_take();
    fake_outside.backlog = MOST + 1;
    assert_false(flow_control_may_read(self));
    fake_outside.now_ms += PATIENCE - 1;
    assert_false(flow_control_look(self));
    DID("");
    fake_outside.now_ms++;
    assert_false(flow_control_look(self));
    DID("cut iopub");
    assert_true(looks(self));
    /* The cell still runs: its own end is to come. */
    flow_control_on_subscriber(self);
    DID("");
    /* It was given, and no other subscriber misses anything. */
    assert_false(backpressure_give(self->limits.backpressure));
}

static void slow_clients_are_cut_from_all_their_channels(void **state)
{
    session_t *self = *state;

    fake_outside.replies = MOST + 1;
    assert_false(flow_control_may_read(self));
    fake_outside.now_ms += PATIENCE;
    assert_false(flow_control_look(self));
    DID("cut shell; cut control; cut stdin");
}

static void a_kernel_that_no_memory_is_left_for_has_to_end(void **state)
{
    session_t *self = *state;
    memory_budget_t *budget = use_up(self);

    fake_outside.link = MOST;
    fake_outside.unfinished = 77;
    assert_false(flow_control_may_read(self));
    fake_outside.now_ms += PATIENCE;
    assert_false(flow_control_look(self));
    DID("audit limit output by kernel; LIMIT output; kill");
    assert_int_equal(self->cause.reason, END_REASON_OUTPUT);
    assert_non_null(strstr(self->cause.detail, "said more than there was room "
                                               "for, with 77 bytes"));
    assert_non_null(strstr(self->cause.detail, "of at most 4194304 bytes"));
    give_back(self, budget);
}

static void what_a_read_may_bring_counts_too(void **state)
{
    session_t *self = *state;
    memory_budget_t *budget = use_up(self);

    assert_true(flow_control_may_read(self));
    fake_outside.growth = MOST;
    assert_false(flow_control_may_read(self));
    give_back(self, budget);
}

/* --- Memory --- */

static void what_is_held_is_counted(void **state)
{
    session_t *self = *state;
    memory_budget_t *budget = memory_budget_new(64 << 20);

    held_memory_destroy(&self->limits.memory);
    self->limits.memory = held_memory_new(budget, PATIENCE);
    flow_control_count(self);
    assert_int_equal(memory_budget_held(budget), 0);
    assert_false(timers_is_running(self->timers, TIMER_MEMORY));
    fake_outside.backlog = 1 << 20;
    fake_outside.replies = 2 << 20;
    fake_outside.link = 4 << 20;
    flow_control_on_memory(self);
    assert_int_equal(memory_budget_held(budget), (7 << 20) - MEMORY_FREE);
    assert_true(timers_is_running(self->timers, TIMER_MEMORY));
    /* The kernel's messages go with it. */
    kernel_link_close(self->link);
    flow_control_on_memory(self);
    assert_int_equal(memory_budget_held(budget), (3 << 20) - MEMORY_FREE);
    give_back(self, budget);
}

static void a_request_needs_memory(void **state)
{
    session_t *self = *state;
    memory_budget_t *budget = use_up(self);

    assert_true(flow_control_has_memory(self, MEMORY_FREE));
    assert_false(flow_control_has_memory(self, MEMORY_FREE + 1));
    give_back(self, budget);
}

static void a_kernel_that_stops_within_a_message_has_to_end(void **state)
{
    session_t *self = *state;
    memory_budget_t *budget = use_up(self);

    flow_control_on_memory(self);
    fake_outside.unfinished = fake_outside.link = MOST;
    assert_false(flow_control_has_memory(self, MOST)); /* memory is short */
    fake_outside.now_ms += PATIENCE / 2 - 1;
    flow_control_on_memory(self);
    DID("");
    fake_outside.now_ms++;
    flow_control_on_memory(self);
    DID("audit limit output by kernel; LIMIT output; kill");
    assert_non_null(strstr(self->cause.detail, "stopped in the middle"));
    give_back(self, budget);
}

static void a_kernel_that_is_held_is_not_to_blame(void **state)
{
    session_t *self = *state;
    memory_budget_t *budget = use_up(self);

    flow_control_on_memory(self);
    fake_outside.unfinished = fake_outside.link = MOST;
    fake_outside.growth = MOST;
    assert_false(flow_control_may_read(self));
    flow_control_on_memory(self);
    fake_outside.now_ms += PATIENCE / 2;
    flow_control_on_memory(self);
    DID("");
    give_back(self, budget);
}

/* --- Subscribers that come back --- */

static void who_comes_back_gets_the_end_of_the_last_cell(void **state)
{
    session_t *self = *state;
    request_t *ended;

    fake_outside.subscribers = 1;
    self->spec->subscribers = 1;
    flow_control_on_latecomers(self); /* all are there */
    flow_control_on_subscriber(self);
    DID("");
    self->spec->subscribers = 2;
    flow_control_on_latecomers(self);
    flow_control_on_subscriber(self); /* no cell has run */
    DID("");
    fake_client_sends(CHANNEL_SHELL, "cell", "execute_request",
                      "{\"code\":\"1\"}");
    receive_on_shell(NULL, NULL, self);
    (void) deeds_take();
    ended = request_queue_finish(self->requests);
    flow_control_on_latecomers(self);
    flow_control_on_subscriber(self);
    DID("iopub idle");
    flow_control_on_subscriber(self); /* it was given */
    DID("");
    request_destroy(&ended);
}

static void a_tombstone_gives_nothing(void **state)
{
    session_t *self = *state;

    backpressure_owe(self->limits.backpressure, 1);
    session_state_step(self->state, STATE_ON_EXIT);
    flow_control_on_subscriber(self);
    DID("");
    assert_true(backpressure_give(self->limits.backpressure));
}

/* --- Replies --- */

static void requests_wait_for_clients_that_take_no_replies(void **state)
{
    session_t *self = *state;

    fake_outside.replies = MOST;
    assert_true(flow_control_may_take(self));
    fake_outside.replies++;
    assert_false(flow_control_may_take(self));
    assert_true(timers_is_running(self->timers, TIMER_REPLIES));
    timers_stop(self->timers, TIMER_REPLIES);
    fake_outside.now_ms += PATIENCE - 1;
    assert_false(flow_control_look_replies(self));
    assert_true(timers_is_running(self->timers, TIMER_REPLIES));
    DID("");
    fake_outside.now_ms++;
    assert_false(flow_control_look_replies(self));
    DID("cut shell; cut control; cut stdin");
    fake_outside.replies = 0;
    assert_false(flow_control_may_take(self)); /* until the next look */
    assert_true(flow_control_look_replies(self));
    DID("resume");
    assert_true(flow_control_may_take(self));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kernel_is_read_up_to_the_bound),
        TEST(before_the_sockets_are_bound_nothing_waits),
        TEST(a_kernel_that_is_interrupted_or_stopped_is_read),
        TEST(reading_goes_on_when_peers_have_taken_enough),
        TEST(a_hold_ends_with_the_kernel),
        TEST(a_subscriber_that_the_port_has_ended_is_owed_the_end),
        TEST(slow_subscribers_are_cut_and_owed_the_end),
        TEST(slow_clients_are_cut_from_all_their_channels),
        TEST(a_kernel_that_no_memory_is_left_for_has_to_end),
        TEST(what_a_read_may_bring_counts_too),
        TEST(what_is_held_is_counted),
        TEST(a_request_needs_memory),
        TEST(a_kernel_that_stops_within_a_message_has_to_end),
        TEST(a_kernel_that_is_held_is_not_to_blame),
        TEST(who_comes_back_gets_the_end_of_the_last_cell),
        TEST(a_tombstone_gives_nothing),
        TEST(requests_wait_for_clients_that_take_no_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
