/* The end of a kernel on request, or its restart: a kernel is asked to leave or
 * killed, and the next gateway finds a note. */
#include "gateway/session/core/shutdown.h"

#include "gateway/session/actor/recovery.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/lifecycle/timers.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static void an_idle_kernel_is_asked_to_leave(void **state)
{
    session_t *self = *state;

    shutdown_begin(self, false);
    DID("kernel SHUTDOWN; command U");
    HAS("{\"restart\":false}", "SHUTDOWN");
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_int_equal(fake_outside.delay_ms, 1000);
    shutdown_on_timer(self);
    DID("kill");
    fake_session_die(self, SIGSEGV);
    DID("audit session_end deleted by gateway; kill; GONE deleted; iopub dead");
    assert_string_equal(self->spec->end.detail, "ended on request");
    shutdown_begin(self, false);
    DID("");
}

static void a_busy_kernel_is_killed(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    shutdown_begin(self, false);
    DID("kill");
    assert_int_equal(self->cause.reason, END_REASON_DELETED);
}

static void a_restart_fails_earlier_requests(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    shutdown_begin(self, true);
    DID("iopub error; shell execute_reply error; iopub idle; kill");
    HAS("a fresh kernel takes over", "execute_reply");
}

static void an_end_at_once_asks_no_kernel(void **state)
{
    session_t *self = *state;

    shutdown_at_once(self, "its process, pid 7, has ended");
    DID("kill");
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    fake_session_die(self, SIGKILL);
    assert_non_null(strstr(deeds_take(), "GONE deleted"));
    assert_string_equal(self->spec->end.detail,
                        "its process, pid 7, has ended");
    shutdown_at_once(self, "again");
    DID("");
}

static void an_end_at_once_cancels_a_restart(void **state)
{
    session_t *self = *state;

    self->spec->restarts = true;
    fake_session_run(self);
    shutdown_begin(self, true);
    shutdown_at_once(self, "its process, pid 7, has ended");
    assert_int_equal(session_state_sequel(self->state), SEQUEL_NONE);
    assert_string_equal(self->cause.detail, "its process, pid 7, has ended");
}

/* Each request of a client may say again that the process has ended. */
static void an_end_at_once_is_noted_once(void **state)
{
    session_t *self = *state;

    shutdown_at_once(self, "its process, pid 7, has ended");
    HAS("{\"restart\":false}", "journal leaving");
    shutdown_at_once(self, "its process, pid 7, has ended");
    assert_int_equal(journal_last_seq(self->journal), 1);
}

/* The gateway was killed before it had ended the kernel. */
static void an_end_at_once_is_finished_by_the_next_gateway(void **state)
{
    session_t *self = *state;

    fake_session_note(self, "launch", 0, "{}");
    fake_session_note(self, "ready", 1, "{\"status\":\"ok\"}");
    shutdown_begin(self, true);
    shutdown_at_once(self, "a new kernel was started with its connection file");
    fake_session_take_over(self);
    assert_true(recovery_is_leaving(self->recovery));
    assert_int_equal(session_state_sequel(self->state), SEQUEL_NONE);
}

static void an_end_takes_the_place_of_a_restart(void **state)
{
    session_t *self = *state;

    shutdown_begin(self, true);
    shutdown_begin(self, false);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_NONE);
    assert_string_equal(self->cause.detail, "ended on request");
    /* And not the other way round. */
    shutdown_begin(self, true);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_NONE);
}

static void a_limit_stays_what_ended_it(void **state)
{
    session_t *self = *state;

    self->spec->restarts = true;
    stop_begin(self, END_REASON_MEMORY, "too much");
    shutdown_begin(self, false);
    assert_int_equal(self->cause.reason, END_REASON_MEMORY);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_NONE);
}

static void a_kernel_that_cannot_be_asked_is_killed(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_HELLO);
    shutdown_begin(self, false);
    DID("kill");
}

static void a_kernel_that_is_not_ready_is_killed(void **state)
{
    session_t *self = *state;

    buffer_clear(&self->info);
    shutdown_begin(self, false);
    DID("kill");
}

static void a_session_without_a_kernel_ends_too(void **state)
{
    session_t *self = *state;

    kernel_link_close(self->link);
    (void) deeds_take();
    shutdown_begin(self, false);
    DID("");
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_int_equal(self->cause.reason, END_REASON_DELETED);
}

/* The next gateway takes no member of the pool over. */
static void the_end_is_noted_unless_it_is_pooled(void **state)
{
    session_t *self = *state;

    shutdown_begin(self, false);
    assert_int_equal(journal_last_seq(self->journal), 1);
    self->spec->is_pooled = true;
    shutdown_begin(self, false);
    assert_int_equal(journal_last_seq(self->journal), 1);
}

static void a_launchers_kernel_is_not_restarted(void **state)
{
    session_t *self = *state;

    self->spec->is_external = true;
    shutdown_begin(self, true);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_NONE);
}

/* The restart is under way already, by request or after a limit. */
static void a_restart_takes_the_place_of_none(void **state)
{
    session_t *self = *state;

    shutdown_begin(self, true);
    (void) deeds_take();
    shutdown_begin(self, true);
    assert_int_equal(journal_last_seq(self->journal), 1);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
}

/* The launch failed, and would have been repeated. */
static void an_end_while_a_launch_is_repeated_is_an_end_on_request(void **state)
{
    session_t *self = *state;

    stop_begin(self, END_REASON_MEMORY, "no memory");
    session_state_step(self->state, STATE_ON_REPEAT);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_REPEAT);
    shutdown_begin(self, false);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_CANCELLED);
    assert_int_equal(self->cause.reason, END_REASON_DELETED);
    assert_string_equal(self->cause.detail, "ended on request");
}

/* The kernel is killed once, and not given more time by each request. */
static void an_end_at_once_does_not_wait_anew(void **state)
{
    session_t *self = *state;

    shutdown_at_once(self, "its process, pid 7, has ended");
    DID("kill");
    shutdown_at_once(self, "its process, pid 7, has ended");
    DID("");
    timers_stop(self->timers, TIMER_STOP);
    shutdown_at_once(self, "its process, pid 7, has ended");
    DID("kill");
}

/* A kernel that was asked to leave is killed. */
static void an_end_at_once_waits_for_no_answer(void **state)
{
    session_t *self = *state;

    shutdown_begin(self, false);
    (void) deeds_take();
    assert_true(timers_is_running(self->timers, TIMER_LEAVE));
    shutdown_at_once(self, "its process, pid 7, has ended");
    DID("kill");
    assert_true(timers_is_running(self->timers, TIMER_STOP));
    assert_false(timers_is_running(self->timers, TIMER_LEAVE));
}

static void an_end_that_another_gateway_began_goes_on(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_WANT_RESTART);
    shutdown_go_on(self);
    DID("kill");
    assert_string_equal(self->cause.detail, "restarted on request");
}

static void an_end_without_a_process_is_awaited(void **state)
{
    session_t *self = *state;

    kernel_link_close(self->link);
    (void) deeds_take();
    shutdown_go_on(self);
    DID("");
    assert_true(timers_is_running(self->timers, TIMER_STOP));
    assert_string_equal(self->cause.detail, "ended on request");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_idle_kernel_is_asked_to_leave),
        TEST(a_busy_kernel_is_killed),
        TEST(a_restart_fails_earlier_requests),
        TEST(an_end_at_once_asks_no_kernel),
        TEST(an_end_at_once_cancels_a_restart),
        TEST(an_end_at_once_is_noted_once),
        TEST(an_end_at_once_is_finished_by_the_next_gateway),
        TEST(an_end_takes_the_place_of_a_restart),
        TEST(a_limit_stays_what_ended_it),
        TEST(a_kernel_that_cannot_be_asked_is_killed),
        TEST(a_kernel_that_is_not_ready_is_killed),
        TEST(a_session_without_a_kernel_ends_too),
        TEST(the_end_is_noted_unless_it_is_pooled),
        TEST(a_launchers_kernel_is_not_restarted),
        TEST(a_restart_takes_the_place_of_none),
        TEST(an_end_while_a_launch_is_repeated_is_an_end_on_request),
        TEST(an_end_at_once_does_not_wait_anew),
        TEST(an_end_at_once_waits_for_no_answer),
        TEST(an_end_that_another_gateway_began_goes_on),
        TEST(an_end_without_a_process_is_awaited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
