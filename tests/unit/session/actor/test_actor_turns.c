/* The session actor: what its timers and its kernel's process do. */
#include "tests/unit/session/actor/actor_rig.h"

#include "gateway/session/requests/request_queue.h"

#include <string.h>

static void has(const char *part, const char *text)
{
    assert_non_null(text);
    assert_non_null(strstr(text, part));
}

/* --- Timers --- */

static void is_idle_too_long(session_t *self)
{
    fake_session_ready(self);
    actor_rig_expire(self, TIMER_IDLE);
    assert_int_equal(self->cause.reason, END_REASON_IDLE_TIMEOUT);
    has("idle for 5 s", self->cause.detail);
}

static void a_session_without_requests_ends(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    actor_rig_run(is_idle_too_long);
}

/* A session in use has its full time again. */
static void is_in_use(session_t *self)
{
    fake_outside.now_ms += 5000;
    fake_outside.delay_ms = 0;
    actor_rig_expire(self, TIMER_IDLE);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    assert_int_equal(self->clocks.asked_us, fake_outside.now_ms * 1000);
    assert_int_equal(fake_outside.delay_ms, 5000);
}

static void is_in_use_by_requests(session_t *self)
{
    is_in_use(self); /* it starts */
    fake_session_ready(self);
    fake_session_run(self);
    is_in_use(self);
    fake_session_request(self, "next", "execute_request");
    assert_int_equal(request_queue_size(self->requests), 1);
    session_state_step(self->state, STATE_ON_END);
    assert_true(session_state_is(self->state, PHASE_IDLE));
    is_in_use(self);
}

static void a_session_with_requests_does_not_end(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    actor_rig_run(is_in_use_by_requests);
}

static void is_in_use_by_a_process(session_t *self)
{
    fake_session_ready(self);
    rig.keeps_awake = true;
    is_in_use(self);
}

static void a_session_with_a_process_does_not_end(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    actor_rig_run(is_in_use_by_a_process);
}

static void is_kept_by_its_output(session_t *self)
{
    fake_session_ready(self);
    fake_outside.now_ms += 4000;
    self->clocks.output_us = fake_outside.now_ms * 1000;
    fake_outside.now_ms += 1000;
    actor_rig_expire(self, TIMER_IDLE);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    assert_int_equal(fake_outside.delay_ms, 4000);
    fake_outside.now_ms += 9000;
    self->clocks.output_us = fake_outside.now_ms * 1000;
    actor_rig_expire(self, TIMER_IDLE);
    has("longer than its output alone may keep it", self->cause.detail);
    has("8 s", self->cause.detail);
}

static void output_alone_keeps_a_session_for_a_while(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    spec->times.output_timeout_ms = 8000;
    actor_rig_run(is_kept_by_its_output);
}

static void is_over(session_t *self)
{
    actor_rig_expire(self, TIMER_LIFETIME);
    assert_int_equal(self->cause.reason, END_REASON_LIFETIME);
    has("its lifetime of 9 s was over", self->cause.detail);
}

static void a_session_has_a_lifetime(void **state)
{
    (void) state;
    spec->times.lifetime_ms = 9000;
    actor_rig_run(is_over);
}

/* --- The kernel's process --- */

static void speaks(session_t *self)
{
    fake_session_ready(self);
    fake_session_run(self);
    fake_kernel_replies(fake_running(self), "{\"status\":\"ok\"}", "{}");
    rig.ops->on_input(self);
    has("shell execute_reply ok", deeds_take());
    fake_outside.end = (kernel_end_t){.is_known = true, .code = 3};
    rig.ops->on_end(self);
    has("GONE", deeds_take());
    assert_true(session_state_is(self->state, PHASE_GONE));
}

static void the_kernel_is_heard_until_its_end(void **state)
{
    (void) state;
    actor_rig_run(speaks);
}

static void is_silent(session_t *self)
{
    rig.ops->on_silent(self); /* the zygote's answer says why */
    assert_true(session_state_is(self->state, PHASE_STARTING));
    fake_session_ready(self);
    rig.ops->on_silent(self);
    assert_true(session_state_is(self->state, PHASE_GONE));
}

static void a_silent_pid_1_is_an_end_once_it_was_launched(void **state)
{
    (void) state;
    actor_rig_run(is_silent);
}

static void is_silent_after_another_gateway(session_t *self)
{
    session_state_step(self->state, STATE_ON_RELEASE);
    rig.ops->on_silent(self);
    assert_true(session_state_is(self->state, PHASE_GONE));
}

static void a_silent_pid_1_of_another_gateway_is_an_end(void **state)
{
    (void) state;
    fake_outside.is_adoptable = false;
    actor_rig_run(is_silent_after_another_gateway);
}

static void has_failed(session_t *self)
{
    rig.ops->on_status(self);
    assert_int_equal(self->cause.reason, END_REASON_LAUNCH);
    assert_string_equal(self->cause.detail, "no such wall");
}

static void a_launch_reports_its_fault(void **state)
{
    fault_t fault;
    int fds[2];

    (void) state;
    assert_int_equal(pipe(fds), 0);
    memset(&fault, 0, sizeof fault);
    (void) fault_set(&fault, EPERM, "no such wall");
    assert_int_equal(write(fds[1], &fault, sizeof fault), sizeof fault);
    close(fds[1]);
    fake_outside.command->launching.status_fd = fds[0];
    actor_rig_run(has_failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(a_session_without_requests_ends),
        FRESH(a_session_with_requests_does_not_end),
        FRESH(a_session_with_a_process_does_not_end),
        FRESH(output_alone_keeps_a_session_for_a_while),
        FRESH(a_session_has_a_lifetime),
        FRESH(the_kernel_is_heard_until_its_end),
        FRESH(a_silent_pid_1_is_an_end_once_it_was_launched),
        LEFT(a_silent_pid_1_of_another_gateway_is_an_end),
        FRESH(a_launch_reports_its_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
