/* The end of a kernel: messages to clients and the registry, records in journal
 * and audit log, and then a tombstone or a fresh kernel. */
#include "gateway/session/actor/termination.h"

#include "base/fd.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/actor/revival.h"
#include "gateway/session/core/shutdown.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/backpressure.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/revive.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_requests.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static void a_kernel_that_died_leaves_a_tombstone(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    timers_start(self->timers, TIMER_CELL, 1000);
    timers_start(self->timers, TIMER_IDLE, 1000);
    fake_session_die(self, SIGSEGV);
    DID("audit cell_end lost by client=me; audit session_end signal by "
        "gateway; "
        "iopub error; shell execute_reply error; iopub idle; kill; "
        "GONE signal; iopub dead");
    HAS("KernelDied", "execute_reply");
    HAS("by signal 11", "execute_reply");
    assert_true(session_state_is(self->state, PHASE_GONE));
    assert_string_equal(self->spec->end.reason, "signal");
    assert_non_null(strstr(self->spec->end.detail, "by signal 11"));
    assert_int_equal(self->spec->process.pid, 0);
    assert_null(session_kernel(self));
    assert_false(timers_is_running(self->timers, TIMER_CELL));
    assert_false(timers_is_running(self->timers, TIMER_IDLE));
    assert_true(timers_is_running(self->timers, TIMER_TOMBSTONE));
    assert_int_equal(fake_outside.delay_ms, 60000);
    termination_on_tombstone(self);
    DID("REMOVED");
    /* It ends once. */
    termination_finish(self);
    DID("");
}

static void a_launchers_ports_are_given_up_at_once(void **state)
{
    session_t *self = *state;

    self->spec->is_external = true;
    fake_session_die(self, SIGSEGV);
    assert_int_equal(fake_outside.delay_ms, 1);
}

static void a_member_of_the_pool_is_ended_at_once(void **state)
{
    session_t *self = *state;

    self->spec->is_pooled = true;
    fake_session_die(self, SIGSEGV);
    assert_int_equal(fake_outside.delay_ms, 1);
    DID("kill; GONE signal; iopub dead");
}

static void the_profile_replaces_a_kernel(void **state)
{
    session_t *self = *state;
    uint64_t seq;

    self->spec->restarts = true;
    fake_session_run(self);
    request_queue_set_next_count(self->requests, 9);
    seq = journal_last_seq(self->journal);
    fake_session_die(self, SIGSEGV);
    DID("audit cell_end lost by client=me; audit session_end signal by "
        "gateway; "
        "iopub error; shell execute_reply error; iopub idle; kill; "
        "iopub restarting; iopub starting; LAUNCH");
    assert_true(session_state_is(self->state, PHASE_STARTING));
    assert_int_equal(request_queue_next_count(self->requests), 1);
    assert_int_equal(self->info.size, 0);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    /* The cell's error and reply, and the restart. */
    assert_int_equal(journal_last_seq(self->journal), seq + 3);
}

static void a_restart_keeps_later_requests(void **state)
{
    session_t *self = *state;

    shutdown_begin(self, true);
    DID("kernel SHUTDOWN");
    assert_true(timers_is_running(self->timers, TIMER_LEAVE));
    fake_session_run(self);
    fake_session_die(self, SIGSEGV);
    DID("audit session_end deleted by gateway; kill; iopub starting; LAUNCH");
    assert_int_equal(request_queue_size(self->requests), 1);
}

static void a_limit_is_counted_once(void **state)
{
    session_t *self = *state;

    stop_begin(self, END_REASON_MEMORY, "too much");
    DID("audit limit memory by kernel; LIMIT memory; kill");
    stop_begin(self, END_REASON_CPU, "too long");
    DID("kill");
    fake_session_die(self, SIGSEGV);
    DID("audit session_end memory by gateway; kill; GONE memory; iopub dead");
    assert_string_equal(self->spec->end.detail, "too much");
}

static void a_limit_is_known_by_the_signal(void **state)
{
    session_t *self = *state;

    self->spec->limits.cpu_seconds = 9;
    fake_session_die(self, SIGXCPU);
    DID("audit limit cpu by kernel; LIMIT cpu; "
        "audit session_end cpu by gateway; kill; GONE cpu; iopub dead");
    assert_non_null(strstr(self->spec->end.detail, "9 s of processor time"));
}

/* The cell that has said too much has counted it already. */
static void a_limit_of_the_output_is_not_counted_twice(void **state)
{
    static const frame_t said = {.type = FRAME_STREAM};
    session_t *self = *state;

    self->spec->limits.cpu_seconds = 9;
    (void) output_limit_drop(self->limits.output, &said);
    assert_true(output_limit_is_over(self->limits.output));
    fake_session_die(self, SIGXCPU);
    DID("audit limit cpu by kernel; audit session_end cpu by gateway; kill; "
        "GONE cpu; iopub dead");
}

/* Only a control group knows that no limit was reached. */
static void a_kill_without_a_group_may_be_a_limit(void **state)
{
    session_t *self = *state;

    fake_session_die(self, SIGKILL);
    assert_null(strstr(self->spec->end.detail, "no limit"));
    assert_non_null(strstr(self->spec->end.detail, "out-of-memory"));
}

static void an_end_waits_for_subscribers(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_HOLD);
    fake_session_die(self, SIGSEGV);
    DID("");
    assert_int_equal(session_state_subscribers(self->state),
                     SUBSCRIBERS_HELD_ENDED);
    assert_false(session_state_is(self->state, PHASE_GONE));
}

static void a_launch_is_repeated_without_a_word(void **state)
{
    session_t *self = *state;

    buffer_clear(&self->info);
    session_state_step(self->state, STATE_ON_RELAUNCH);
    self->clocks.launched = fake_outside.now_ms;
    session_state_step(self->state, STATE_ON_LAUNCH);
    stop_repeat_launch(self);
    stop_begin(self, END_REASON_LAUNCH, "stale");
    (void) deeds_take();
    /* The answer to the launch has to come first. */
    termination_finish(self);
    DID("");
    session_state_step(self->state, STATE_ON_LAUNCH_FAILED);
    termination_finish(self);
    DID("kill; iopub starting; LAUNCH");
    assert_int_equal(self->clocks.launched, fake_outside.now_ms);
    assert_int_equal(journal_last_seq(self->journal), 0);
}

static void a_missing_answer_is_given_up(void **state)
{
    session_t *self = *state;

    buffer_clear(&self->info);
    session_state_step(self->state, STATE_ON_RELAUNCH);
    self->clocks.launched = fake_outside.now_ms;
    session_state_step(self->state, STATE_ON_LAUNCH);
    stop_repeat_launch(self);
    stop_begin(self, END_REASON_LAUNCH, "stale");
    (void) deeds_take();
    termination_on_stop(self);
    DID("audit session_end launch by gateway; kill; GONE launch; iopub dead");
}

static void the_last_output_of_a_kernel_is_published(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    fake_kernel_says(FRAME_STREAM, fake_running(self),
                     "{\"name\":\"stderr\",\"text\":\"bye\"}");
    fake_outside.backlog = 2 << 20; /* also to slow peers */
    fake_outside.is_closed = true;
    fake_session_die(self, SIGSEGV);
    HAS("bye", "stream");
}

static void a_kernel_that_broke_the_protocol_is_not_heard(void **state)
{
    session_t *self = *state;

    stop_begin(self, END_REASON_PROTOCOL, "nonsense");
    fake_kernel_says(FRAME_STREAM, 0, "{\"name\":\"stderr\",\"text\":\"x\"}");
    fake_session_die(self, SIGSEGV);
    DID("audit protocol protocol by kernel; kill; "
        "audit session_end protocol by gateway; kill; "
        "GONE protocol; iopub dead");
}

/* The launch reports a fault. */
static void fail_launch(session_t *self, int code, const char *text)
{
    fault_t fault = {.code = code};
    int fds[2];

    snprintf(fault.text, sizeof fault.text, "%s", text);
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(write(fds[1], &fault, sizeof fault), sizeof fault);
    close(fds[1]);
    kernel_link_watch_status(self->link, fds[0]);
    buffer_clear(&self->info);
    session_state_step(self->state, STATE_ON_RELAUNCH);
    self->clocks.launched = fake_outside.now_ms;
}

static void a_fault_of_the_launch_is_the_cause(void **state)
{
    session_t *self = *state;

    fail_launch(self, EIO, "no \x01 ~\x7f room");
    termination_read_status(self);
    DID("kill");
    assert_int_equal(self->cause.reason, END_REASON_LAUNCH);
    assert_string_equal(self->cause.detail, "no ? ~? room");
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
    termination_read_status(self); /* nothing more is said */
    DID("");
}

static void a_zygote_that_is_out_of_date_is_reported(void **state)
{
    session_t *self = *state;

    fail_launch(self, ESTALE, "changed");
    termination_read_status(self);
    DID("STALE; kill");
    assert_int_equal(session_state_sequel(self->state), SEQUEL_REPEAT);
}

/* Everything that belonged to the kernel is undone, and it is on the disk. */
static void a_tombstone_keeps_nothing_of_its_kernel(void **state)
{
    static const timer_name_t timers[] = {
        TIMER_CELL,    TIMER_READY,    TIMER_SEED, TIMER_JOURNAL,
        TIMER_STOP,    TIMER_LEAVE,    TIMER_LINK, TIMER_RESOURCES,
        TIMER_LATENCY, TIMER_LIFETIME, TIMER_IDLE,
    };
    static const char *const sockets[] = {"link.sock", "init.sock"};
    static const request_t served = {.came_us = 1};
    const backpressure_load_t too_much = {.outputs = 2 << 20,
                                          .is_permitted = true};
    session_t *self = *state;
    cleanup_buffer buffer_t saved = BUFFER_EMPTY;
    cleanup_free char *session_file =
        mem_format("%s/session.json", self->spec->state_folder);
    fault_t fault;

    latency_count(&self->latency, &served, 1000);
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
        timers_start(self->timers, timers[i], 1000);
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path =
            mem_format("%s/%s", self->spec->runtime_folder, sockets[i]);

        assert_int_equal(file_replace(path, 0600, "", 0, &fault), 0);
    }
    self->clocks.launched = 5;
    fake_session_die(self, SIGSEGV);
    DID("audit session_end signal by gateway; kill; LATENCY; "
        "GONE signal; iopub dead");
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
        assert_false(timers_is_running(self->timers, timers[i]));
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path =
            mem_format("%s/%s", self->spec->runtime_folder, sockets[i]);

        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(self->clocks.launched, 0);
    assert_int_equal(file_read(session_file, 1 << 20, &saved, &fault), 0);
    assert_non_null(
        strstr((const char *) saved.data, "\"reason\": \"signal\""));
    /* Slow peers hold again what the next kernel says. */
    assert_int_equal(backpressure_check(self->limits.backpressure, &too_much,
                                        fake_outside.now_ms),
                     BACKPRESSURE_HOLD);
}

static session_command_t *order(session_tools_kind_t kind, uint64_t token)
{
    session_command_t *made = session_command_new(SESSION_TOOLS, token);

    made->tools.kind = kind;
    made->tools.who = mem_text("token=1");
    made->tools.provider = mem_text("agent");
    made->tools.place = mem_text("x");
    made->tools.text = mem_text("[{\"name\":\"t\"}]");
    made->tools.wait_ms = 1000;
    return made;
}

/* A wait for calls ends with the error of a session that is gone. */
static void waits_for_calls_of_tools_end_too(void **state)
{
    session_t *self = *state;
    cleanup_session_command session_command_t *offer = order(TOOLS_REGISTER, 1);
    cleanup_session_command session_command_t *wait = order(TOOLS_TAKE, 2);
    tool_call_t *call = mem_new(sizeof *call);

    tool_requests_take(self, offer);
    tool_requests_take(self, wait);
    call->id = 3;
    call->tool = mem_text("t");
    call->provider = mem_text("agent");
    buffer_text(&call->arguments, "{}");
    tool_calls_add(self->tools.calls, &call);
    (void) deeds_take();
    fake_session_die(self, SIGSEGV);
    assert_null(tool_calls_first(self->tools.calls));
    assert_non_null(strstr(deeds_take(), "ANSWERED 2 error SessionGone"));
    HAS("session s1 is gone since", "sentence");
}

static void a_fresh_kernel_begins_anew(void **state)
{
    static const frame_t said = {.type = FRAME_STREAM};
    session_t *self = *state;
    cleanup_buffer buffer_t saved = BUFFER_EMPTY;
    cleanup_free char *session_file =
        mem_format("%s/session.json", self->spec->state_folder);
    fault_t fault;

    kernel_link_note(self->link, 9, 1);
    self->clocks.launched = 5;
    self->spec->restarts = true;
    fake_session_run(self);
    (void) output_limit_drop(self->limits.output, &said);
    fake_session_die(self, SIGSEGV);
    assert_true(session_state_is(self->state, PHASE_STARTING));
    assert_int_equal(kernel_link_seq(self->link), 0);
    assert_int_equal(self->clocks.launched, 0);
    assert_false(output_limit_is_over(self->limits.output));
    assert_int_equal(self->spec->process.pid, 0);
    /* No other gateway takes the old process for the fresh one. */
    assert_int_equal(file_read(session_file, 1 << 20, &saved, &fault), 0);
    assert_non_null(strstr((const char *) saved.data, "\"pid\": 0,"));
    /* A seed that was under way begins again. */
    self->spec->seed.is_running = true;
    termination_relaunch(self);
    assert_false(self->spec->seed.is_running);
}

/* A zygote that is out of date is reported, whichever comes first: the fault of
 * the launch or the end of its process. */
static void a_fault_that_was_not_read_is_the_cause(void **state)
{
    session_t *self = *state;

    fail_launch(self, EIO, "no room");
    fake_session_die(self, SIGSEGV);
    assert_string_equal(self->spec->end.reason, "launch");
    assert_string_equal(self->spec->end.detail, "no room");
}

/* The seed's cell is not a client's. */
static void only_a_clients_cell_is_lost(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    request_queue_running(self->requests)->purpose = REQUEST_FOR_SEED;
    fake_session_die(self, SIGSEGV);
    DID("audit session_end signal by gateway; iopub error; "
        "shell execute_reply error; iopub idle; kill; "
        "GONE signal; iopub dead");
}

static void what_is_no_cell_is_not_lost(void **state)
{
    session_t *self = *state;

    fake_client_sends(CHANNEL_SHELL, "c", "complete_request",
                      "{\"code\":\"1\",\"cursor_pos\":0}");
    receive_on_shell(NULL, NULL, self);
    (void) deeds_take();
    fake_session_die(self, SIGSEGV);
    DID("audit session_end signal by gateway; shell complete_reply error; "
        "iopub idle; kill; GONE signal; iopub dead");
}

/* --- Revival --- */

static void a_session_that_is_gone_starts_again(void **state)
{
    session_t *self = *state;
    fault_t fault;

    assert_int_equal(revival_begin(self, &fault), -EALREADY);
    self->spec->times.lifetime_ms = 5000;
    fake_session_die(self, SIGSEGV);
    (void) deeds_take();
    fake_outside.now_ms += 10000;
    assert_int_equal(revival_begin(self, &fault), 0);
    DID("iopub restarting; iopub starting; LAUNCH");
    assert_true(session_state_is(self->state, PHASE_STARTING));
    assert_string_equal(self->spec->end.reason, "");
    assert_null(self->spec->end.detail);
    assert_int_equal(self->spec->times.created_us, fake_outside.now_ms * 1000);
    assert_int_equal(fake_outside.delay_ms, 5000);
    assert_false(timers_is_running(self->timers, TIMER_TOMBSTONE));
}

static void a_revival_that_cannot_be_journaled_fails(void **state)
{
    session_t *self = *state;
    fault_t fault;

    fake_session_die(self, SIGSEGV);
    fake_outside.is_journal_lost = true;
    assert_int_equal(revival_begin(self, &fault), -ENOSPC);
    assert_true(session_state_is(self->state, PHASE_GONE));
    assert_true(timers_is_running(self->timers, TIMER_TOMBSTONE));
}

static void the_next_reply_has_the_report(void **state)
{
    static const request_t cell = {.frame_type = FRAME_EXECUTE};
    session_t *self = *state;
    cleanup_buffer buffer_t members = BUFFER_EMPTY;
    fault_t fault;

    fake_outside.is_journal_lost = true;
    assert_int_equal(revival_report(self, "{\"is_complete\":true}", &fault),
                     -ENOSPC);
    revive_write(self->start.revival, &cell, &members);
    assert_int_equal(members.size, 0);
    fake_outside.is_journal_lost = false;
    assert_int_equal(revival_report(self, "{\"is_complete\":true}", &fault), 0);
    revive_write(self->start.revival, &cell, &members);
    assert_true(members.size > 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kernel_that_died_leaves_a_tombstone),
        TEST(a_launchers_ports_are_given_up_at_once),
        TEST(a_member_of_the_pool_is_ended_at_once),
        TEST(the_profile_replaces_a_kernel),
        TEST(a_restart_keeps_later_requests),
        TEST(a_limit_is_counted_once),
        TEST(a_limit_is_known_by_the_signal),
        TEST(a_limit_of_the_output_is_not_counted_twice),
        TEST(a_kill_without_a_group_may_be_a_limit),
        TEST(an_end_waits_for_subscribers),
        TEST(a_launch_is_repeated_without_a_word),
        TEST(a_missing_answer_is_given_up),
        TEST(the_last_output_of_a_kernel_is_published),
        TEST(a_kernel_that_broke_the_protocol_is_not_heard),
        TEST(a_fault_of_the_launch_is_the_cause),
        TEST(a_zygote_that_is_out_of_date_is_reported),
        TEST(a_tombstone_keeps_nothing_of_its_kernel),
        TEST(waits_for_calls_of_tools_end_too),
        TEST(a_fresh_kernel_begins_anew),
        TEST(a_fault_that_was_not_read_is_the_cause),
        TEST(only_a_clients_cell_is_lost),
        TEST(what_is_no_cell_is_not_lost),
        TEST(a_session_that_is_gone_starts_again),
        TEST(a_revival_that_cannot_be_journaled_fails),
        TEST(the_next_reply_has_the_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
