/* The clocks of a session that run while no client uses it, at a time that the
 * test sets. */
#include "gateway/session/core/activity.h"

#include "gateway/session/core/shutdown.h"
#include "gateway/session/lifecycle/timers.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#define IDLE_MS   60000
#define OUTPUT_MS 30000

static int begin(void **state)
{
    session_t *self;

    if (fake_session_begin_ready(state) < 0)
        return -1;
    self = *state;
    self->spec->times.idle_timeout_ms = IDLE_MS;
    self->spec->times.output_timeout_ms = OUTPUT_MS;
    return 0;
}

static int64_t now_us(void)
{
    return fake_outside.now_ms * 1000;
}

static void pass(int64_t ms)
{
    fake_outside.now_ms += ms;
}

/* Returns the delay of the timer that was just started; 0 if none was. */
static size_t started(const session_t *self, timer_name_t name)
{
    size_t delay =
        timers_is_running(self->timers, name) ? fake_outside.delay_ms : 0;

    timers_stop(self->timers, name);
    fake_outside.delay_ms = 0;
    return delay;
}

static void a_client_begins_the_timeout_anew(void **state)
{
    session_t *self = *state;

    self->spec->times.asked_us = now_us();
    for (int i = 0; i < 2; i++, pass(100)) {
        activity_touch(self);
        assert_int_equal(started(self, TIMER_IDLE), IDLE_MS);
        assert_int_equal(activity_last_us(self), now_us());
        assert_int_equal(self->clocks.asked_us, now_us());
    }
}

static void without_a_timeout_no_timer_runs(void **state)
{
    session_t *self = *state;

    self->spec->times.idle_timeout_ms = 0;
    activity_touch(self);
    assert_int_equal(started(self, TIMER_IDLE), 0);
    assert_int_equal(activity_last_us(self), now_us());
}

static void a_session_that_has_ended_has_no_timeout(void **state)
{
    session_t *self = *state;

    shutdown_at_once(self, "over");
    fake_session_die(self, 9);
    timers_stop(self->timers, TIMER_IDLE);
    activity_touch(self);
    assert_int_equal(started(self, TIMER_IDLE), 0);
}

/* The time on disk is at most a second too early. */
static void the_time_of_a_client_is_kept_on_disk(void **state)
{
    session_t *self = *state;

    self->spec->times.asked_us = now_us();
    pass(999);
    activity_touch(self);
    assert_false(timers_is_running(self->timers, TIMER_SAVE));
    pass(1);
    activity_touch(self);
    assert_true(timers_is_running(self->timers, TIMER_SAVE));
}

static void another_gateway_begins_the_timeout_anew(void **state)
{
    session_t *self = *state;
    int64_t asked_us = now_us() - 5000000;

    self->spec->times.asked_us = asked_us;
    activity_take_over(self);
    assert_int_equal(started(self, TIMER_IDLE), IDLE_MS);
    assert_int_equal(activity_last_us(self), now_us());
    assert_int_equal(self->clocks.asked_us, asked_us);
}

/* It is not known, or later than now because the clock was set back. */
static void a_time_that_cannot_be_counts_from_now(void **state)
{
    session_t *self = *state;
    const int64_t wrong[] = {0, -1, now_us() + 1};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        self->spec->times.asked_us = wrong[i];
        self->clocks.asked_us = 7;
        activity_take_over(self);
        assert_int_equal(self->clocks.asked_us, now_us());
    }
}

static void output_is_activity_for_a_while(void **state)
{
    session_t *self = *state;
    int64_t until_us;

    activity_touch(self);
    until_us = now_us() + OUTPUT_MS * 1000;
    pass(OUTPUT_MS);
    activity_note_output(self);
    assert_int_equal(activity_last_us(self), now_us());
    assert_int_equal(activity_last_us(self), until_us);
    assert_false(activity_is_output_alone(self));
    pass(1);
    activity_note_output(self);
    assert_int_equal(activity_last_us(self), until_us);
    assert_true(activity_is_output_alone(self));
}

static void output_extends_the_timeout(void **state)
{
    session_t *self = *state;

    activity_touch(self);
    pass(OUTPUT_MS);
    activity_note_output(self);
    pass(IDLE_MS - OUTPUT_MS);
    (void) started(self, TIMER_IDLE);
    assert_true(activity_goes_on(self));
    assert_int_equal(started(self, TIMER_IDLE), OUTPUT_MS);
    pass(OUTPUT_MS - 2);
    assert_true(activity_goes_on(self));
    assert_int_equal(started(self, TIMER_IDLE), 2);
    pass(1);
    assert_false(activity_goes_on(self));
    assert_int_equal(started(self, TIMER_IDLE), 0);
}

static void without_output_it_is_not_extended(void **state)
{
    session_t *self = *state;

    activity_touch(self);
    (void) started(self, TIMER_IDLE);
    assert_false(activity_goes_on(self));
    pass(IDLE_MS);
    assert_false(activity_goes_on(self));
    assert_int_equal(started(self, TIMER_IDLE), 0);
}

static void a_clock_that_was_set_back_does_not_extend_it(void **state)
{
    session_t *self = *state;

    activity_touch(self);
    pass(2000);
    activity_note_output(self);
    pass(-1000);
    (void) started(self, TIMER_IDLE);
    assert_false(activity_goes_on(self));
    pass(1000);
    assert_true(activity_goes_on(self));
}

static void a_lifetime_runs_from_the_creation(void **state)
{
    session_t *self = *state;

    activity_count_lifetime(self);
    assert_int_equal(started(self, TIMER_LIFETIME), 0);
    self->spec->times.lifetime_ms = 9000;
    self->spec->times.created_us = now_us() - 4000000;
    activity_count_lifetime(self);
    assert_int_equal(started(self, TIMER_LIFETIME), 5000);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_begins_the_timeout_anew),
        TEST(without_a_timeout_no_timer_runs),
        TEST(a_session_that_has_ended_has_no_timeout),
        TEST(the_time_of_a_client_is_kept_on_disk),
        TEST(another_gateway_begins_the_timeout_anew),
        TEST(a_time_that_cannot_be_counts_from_now),
        TEST(output_is_activity_for_a_while),
        TEST(output_extends_the_timeout),
        TEST(without_output_it_is_not_extended),
        TEST(a_clock_that_was_set_back_does_not_extend_it),
        TEST(a_lifetime_runs_from_the_creation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
