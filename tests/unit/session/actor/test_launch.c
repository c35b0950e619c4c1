/* The launch of a kernel: what the registry reports about it, and which answer
 * each report has. */
#include "gateway/session/actor/launch.h"

#include "gateway/session/actor/control.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static void take(session_t *self, session_command_t *command)
{
    control_take(self, &command);
    assert_null(command);
}

static void launching(session_t *self)
{
    session_command_t *made = session_command_new(SESSION_LAUNCHING, 0);

    made->launching.host_uid = 1234;
    made->launching.init_uid = 1235;
    take(self, made);
}

static void launched(session_t *self)
{
    session_command_t *made = session_command_new(SESSION_LAUNCHED, 0);

    made->launched.pid = 4711;
    take(self, made);
}

static void a_launch_connects_before_there_is_a_process(void **state)
{
    session_t *self = *state;

    launching(self);
    DID("kernel HELLO 0");
    assert_int_equal(self->spec->process.host_uid, 1234);
    assert_int_equal(self->spec->process.init_uid, 1235);
    assert_true(self->spec->process.has_ids);
    assert_int_equal(session_state_launch(self->state), LAUNCH_ASKED);
    launched(self);
    DID("");
    assert_int_equal(self->spec->process.pid, 4711);
    assert_int_equal(self->spec->process.start_time, 77);
    assert_int_equal(session_state_launch(self->state), LAUNCH_CHECKED);
    assert_int_equal(fake_outside.delay_ms, 30000);
}

/* The next gateway must know what its kernel sees. */
static void a_launch_says_which_packages_the_kernel_sees(void **state)
{
    session_t *self = *state;
    session_command_t *made = session_command_new(SESSION_LAUNCHING, 0);

    made->launching.packages = mem_text("/p/sessions");
    take(self, made);
    assert_string_equal(self->spec->packages.shown, "/p/sessions");
    launching(self);
    assert_null(self->spec->packages.shown);
}

static void a_launch_records_what_the_profile_has(void **state)
{
    session_t *self = *state;
    session_command_t *made = session_command_new(SESSION_LAUNCHING, 0);

    made->launching.preinstalled_contents = mem_text("{\"packages\":[]}");
    take(self, made);
    assert_string_equal(deeds_content("journal preinstalled"),
                        "{\"packages\":[]}");
}

static void a_launch_without_packages_records_nothing(void **state)
{
    session_t *self = *state;
    uint64_t before = journal_last_seq(self->journal);

    launching(self);
    assert_int_equal(journal_last_seq(self->journal), before);
}

/* A recording has the packages of the last kernel. */
static void a_launch_records_that_the_profile_has_nothing_any_more(void **state)
{
    session_t *self = *state;
    session_command_t *made = session_command_new(SESSION_LAUNCHING, 0);

    made->launching.preinstalled = mem_text("/p/profiles/1");
    made->launching.preinstalled_contents =
        mem_text("{\"packages\":[{\"name\":\"a\",\"version\":\"1\"}]}");
    take(self, made);
    launching(self);
    assert_string_equal(deeds_content("journal preinstalled"),
                        "{\"packages\":[]}");
    (void) deeds_take();
    launching(self);
    DID("kernel HELLO 0");
}

/* Until it is handed out, no client has it. */
static void a_member_of_the_pool_ends_with_the_gateway(void **state)
{
    session_t *self = *state;

    self->spec->is_pooled = true;
    launching(self);
    DID("command U; kernel HELLO 0");
}

static void a_fresh_python_has_more_time(void **state)
{
    session_t *self = *state;

    fake_session_profile.is_fresh = 1;
    launching(self);
    launched(self);
    assert_int_equal(fake_outside.delay_ms, 300000);
    launch_on_unready(self);
    assert_non_null(strstr(self->cause.detail, "30 s from its fork"));
}

static void a_kernel_that_is_ready_is_not_late(void **state)
{
    session_t *self = *state;

    fake_session_ready(self);
    launch_on_unready(self);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
}

/* READY may come before the process is known. */
static void a_kernel_is_looked_at_before_it_is_ready(void **state)
{
    session_t *self = *state;

    launching(self);
    buffer_text(&self->info, "{}");
    launch_admit(self);
    assert_true(session_state_is(self->state, PHASE_STARTING));
    (void) deeds_take();
    launched(self);
    DID("READY");
    assert_true(session_state_is(self->state, PHASE_IDLE));
}

static void a_kernel_without_its_walls_ends(void **state)
{
    session_t *self = *state;

    launching(self);
    launched(self);
    fake_outside.sandbox = -EPROTO;
    launch_admit(self);
    assert_int_equal(self->cause.reason, END_REASON_LAUNCH);
    assert_non_null(strstr(self->cause.detail, "a wall is missing"));
}

/* While it starts, pid 1 may still be on its way. */
static void a_look_ahead_may_fail(void **state)
{
    session_t *self = *state;

    fake_outside.sandbox = -EPROTO;
    launching(self);
    launched(self);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    assert_int_equal(session_state_launch(self->state), LAUNCH_FORKED);
}

static void an_adopted_kernel_is_looked_at(void **state)
{
    session_t *self = *state;

    fake_session_ready(self);
    fake_outside.sandbox = -EPROTO;
    launch_check_adopted(self); /* no launch has reported its users */
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    self->spec->process.has_ids = true;
    fake_outside.sandbox = -ESRCH;
    launch_check_adopted(self);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    fake_outside.sandbox = -EPROTO;
    launch_check_adopted(self);
    assert_int_equal(self->cause.reason, END_REASON_LAUNCH);
}

static void a_launch_that_was_ended_meanwhile_is_killed(void **state)
{
    session_t *self = *state;

    launching(self);
    session_state_step(self->state, STATE_ON_STOP);
    (void) deeds_take();
    launched(self);
    DID("kill");
}

static void a_launch_that_fails_ends_the_session(void **state)
{
    session_t *self = *state;

    launching(self);
    (void) deeds_take();
    take(self, session_command_new_text(SESSION_FAILED, 7, "no zygote"));
    DID("kill; audit session_end launch by gateway; kill; "
        "GONE launch; iopub dead");
    assert_string_equal(self->spec->end.detail, "no zygote");
}

static void a_launch_that_may_go_well_is_repeated(void **state)
{
    session_t *self = *state;

    launching(self);
    (void) deeds_take();
    take(self, session_command_new_text(SESSION_AGAIN, 7, "no memory"));
    DID("kill; kill; iopub starting; LAUNCH");
    assert_true(session_state_is(self->state, PHASE_STARTING));
}

static void a_pid_1_that_is_gone_fails_the_launch(void **state)
{
    session_t *self = *state;

    fake_outside.is_connectable = false;
    launching(self);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    launched(self);
    assert_non_null(strstr(self->cause.detail, "pid 1 was ended"));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_launch_connects_before_there_is_a_process),
        TEST(a_launch_says_which_packages_the_kernel_sees),
        TEST(a_launch_records_what_the_profile_has),
        TEST(a_launch_without_packages_records_nothing),
        TEST(a_launch_records_that_the_profile_has_nothing_any_more),
        TEST(a_member_of_the_pool_ends_with_the_gateway),
        TEST(a_fresh_python_has_more_time),
        TEST(a_kernel_that_is_ready_is_not_late),
        TEST(a_kernel_is_looked_at_before_it_is_ready),
        TEST(a_kernel_without_its_walls_ends),
        TEST(a_look_ahead_may_fail),
        TEST(an_adopted_kernel_is_looked_at),
        TEST(a_launch_that_was_ended_meanwhile_is_killed),
        TEST(a_launch_that_fails_ends_the_session),
        TEST(a_launch_that_may_go_well_is_repeated),
        TEST(a_pid_1_that_is_gone_fails_the_launch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
