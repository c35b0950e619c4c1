/* The effects of a requested end in a session without a kernel. The test sets
 * the time. */
#include "gateway/frontends/frontends.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/output_limit.h"
#include "tests/lib/test.h"

#include <string.h>

static int64_t now_ms;
static size_t last_delay_ms;

int64_t __wrap_clock_monotonic_ms(void);
int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
int __wrap_zloop_timer_end(zloop_t *self, int id);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    static int id;

    (void) self;
    (void) times;
    (void) handler;
    (void) arg;
    last_delay_ms = delay;
    return ++id;
}

int __wrap_zloop_timer_end(zloop_t *self, int id)
{
    (void) self;
    (void) id;
    return 0;
}

static timers_handler_t *const no_handlers[TIMER_COUNT];
static const kernel_link_ops_t no_ops;
static const profile_limits_t no_limits;
static session_spec_t spec;

static int begin(void **state)
{
    static session_t self;

    memset(&self, 0, sizeof self);
    memset(&spec, 0, sizeof spec);
    now_ms = 1000000;
    self.spec = &spec;
    self.timers = timers_new(NULL, no_handlers, &self);
    self.state = session_state_new();
    self.link = kernel_link_new(NULL, &no_ops, &self);
    self.frontends = frontends_new("s");
    self.audit = audit_events_new(&spec);
    self.limits.output = output_limit_new(&no_limits, "profile python");
    *state = &self;
    return 0;
}

static int end(void **state)
{
    session_t *self = *state;

    output_limit_destroy(&self->limits.output);
    audit_events_destroy(&self->audit);
    frontends_destroy(&self->frontends);
    kernel_link_destroy(&self->link);
    session_state_destroy(&self->state);
    timers_destroy(&self->timers);
    buffer_reset(&self->info);
    return 0;
}

/* A kernel that was ready, of a session that replaces kernels. */
static void make_ready(session_t *self)
{
    spec.restarts = true;
    buffer_text(&self->info, "{}");
}

static void the_first_cause_stays(void **state)
{
    session_t *self = *state;

    stop_begin(self, END_REASON_LOST, "cause %d", 1);
    stop_begin(self, END_REASON_SIGNAL, "cause %d", 2);
    assert_int_equal(self->cause.reason, END_REASON_LOST);
    assert_string_equal(self->cause.detail, "cause 1");
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_int_equal(self->announced_phase, PHASE_STOPPING);
}

static void without_a_kernel_the_end_comes_at_once(void **state)
{
    session_t *self = *state;

    stop_begin(self, END_REASON_LOST, "lost");
    assert_true(timers_is_running(self->timers, TIMER_STOP));
    assert_int_equal(last_delay_ms, 1);
}

static void the_answer_to_a_failed_launch_is_awaited(void **state)
{
    session_t *self = *state;

    self->clocks.launched = now_ms;
    session_state_step(self->state, STATE_ON_LAUNCH);
    stop_repeat_launch(self);
    stop_begin(self, END_REASON_LAUNCH, "stale");
    assert_int_equal(last_delay_ms, 5000);
    assert_true(stop_wants_relaunch(self));
}

static void a_session_that_is_gone_is_left_alone(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_EXIT);
    stop_begin(self, END_REASON_LOST, "lost");
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    assert_false(timers_is_running(self->timers, TIMER_STOP));
}

static void one_end_is_awaited_at_a_time(void **state)
{
    session_t *self = *state;

    stop_await(self, TIMER_LEAVE, 1000);
    assert_true(timers_is_running(self->timers, TIMER_LEAVE));
    stop_await(self, TIMER_LINK, 300);
    assert_false(timers_is_running(self->timers, TIMER_LEAVE));
    assert_true(timers_is_running(self->timers, TIMER_LINK));
    stop_expect(self);
    assert_false(timers_is_running(self->timers, TIMER_LINK));
    assert_true(timers_is_running(self->timers, TIMER_STOP));
    stop_end_waiting(self);
    assert_false(timers_is_running(self->timers, TIMER_STOP));
}

static void a_kernel_is_replaced_by_the_profile(void **state)
{
    session_t *self = *state;

    assert_false(stop_wants_relaunch(self));
    make_ready(self);
    assert_true(stop_wants_relaunch(self));
    spec.seed.is_running = true;
    assert_false(stop_wants_relaunch(self));
    spec.seed.is_running = false;
    spec.restarts = false;
    assert_false(stop_wants_relaunch(self));
    spec.restarts = true;
    end_cause_set(&self->cause, END_REASON_WORKSPACE, "full");
    assert_false(stop_wants_relaunch(self));
}

static void a_requested_restart_precedes_the_profile(void **state)
{
    session_t *self = *state;

    end_cause_set(&self->cause, END_REASON_DELETED, "on request");
    session_state_step(self->state, STATE_ON_WANT_RESTART);
    assert_true(stop_wants_relaunch(self));
    make_ready(self);
    self->cause = (end_cause_t){0};
    session_state_step(self->state, STATE_ON_WANT_END);
    assert_false(stop_wants_relaunch(self));
}

static void launches_are_repeated_for_two_minutes(void **state)
{
    session_t *self = *state;

    self->clocks.launched = now_ms;
    now_ms += 120000;
    stop_repeat_launch(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
    now_ms--;
    stop_repeat_launch(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_REPEAT);
}

static void a_kernel_that_was_ready_is_not_repeated(void **state)
{
    session_t *self = *state;

    self->clocks.launched = now_ms;
    buffer_text(&self->info, "{}");
    stop_repeat_launch(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
}

static void a_launch_that_failed_for_a_known_cause_is_not_repeated(void **state)
{
    session_t *self = *state;

    self->clocks.launched = now_ms;
    end_cause_set(&self->cause, END_REASON_DELETED, "on request");
    stop_repeat_launch(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
    self->cause = (end_cause_t){0};
    session_state_step(self->state, STATE_ON_STOP);
    stop_repeat_launch(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_cause_stays),
        TEST(without_a_kernel_the_end_comes_at_once),
        TEST(the_answer_to_a_failed_launch_is_awaited),
        TEST(a_session_that_is_gone_is_left_alone),
        TEST(one_end_is_awaited_at_a_time),
        TEST(a_kernel_is_replaced_by_the_profile),
        TEST(a_requested_restart_precedes_the_profile),
        TEST(launches_are_repeated_for_two_minutes),
        TEST(a_kernel_that_was_ready_is_not_repeated),
        TEST(a_launch_that_failed_for_a_known_cause_is_not_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
