/* The registry's commands to a session: their effects and their answers. Those
 * of interrupts are in test_control_interrupt.c, and of a launch in
 * test_launch.c. */
#include "gateway/session/actor/control.h"

#include "gateway/session/actor/termination.h"
#include "gateway/session/core/deletion.h"
#include "gateway/session/core/shutdown.h"
#include "gateway/session/lifecycle/timers.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static void take(session_t *self, session_command_t *command)
{
    control_take(self, &command);
    assert_null(command);
}

static void command(session_t *self, session_command_kind_t kind)
{
    take(self, session_command_new(kind, 7));
}

static void say(session_t *self, session_command_kind_t kind, const char *text)
{
    take(self, session_command_new_text(kind, 7, text));
}

static void end(session_t *self)
{
    snprintf(self->spec->end.reason, sizeof self->spec->end.reason, "deleted");
    self->spec->end.detail = mem_text("ended");
    session_state_step(self->state, STATE_ON_EXIT);
}

static void list_tools(session_t *self)
{
    session_command_t *made = session_command_new(SESSION_TOOLS, 7);

    made->tools.kind = TOOLS_LIST;
    take(self, made);
}

static void each_command_is_answered(void **state)
{
    session_t *self = *state;

    command(self, SESSION_SHOW);
    DID("ANSWERED 7 ok");
    self->spec->times.idle_timeout_ms = 4000;
    command(self, SESSION_TOUCH);
    DID("ANSWERED 7 ok");
    assert_int_equal(fake_outside.delay_ms, 4000);
    say(self, SESSION_NOTE, "{\"text\":\"n\"}");
    DID("ANSWERED 7 ok");
    say(self, SESSION_REVIVED, "{\"is_complete\":true}");
    DID("ANSWERED 7 ok");
    list_tools(self);
    DID("ANSWERED 7 ok");
    say(self, SESSION_FILE, "{}");
    DID("");
    assert_int_equal(journal_last_seq(self->journal), 3);
    fake_outside.is_journal_lost = true;
    say(self, SESSION_NOTE, "{\"text\":\"n\"}");
    DID("ANSWERED 7 error JournalError");
    say(self, SESSION_REVIVED, "{}");
    DID("ANSWERED 7 error JournalError");
    say(self, SESSION_FILE, "{}");
    DID("");
}

static void a_session_that_is_gone_refuses(void **state)
{
    static const session_command_kind_t kinds[] = {
        SESSION_RESTART, SESSION_DELETE, SESSION_TOUCH, SESSION_INTERRUPT};
    session_t *self = *state;

    end(self);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        command(self, kinds[i]);
        DID("ANSWERED 7 error SessionGone");
    }
    list_tools(self);
    DID("ANSWERED 7 error SessionGone");
    say(self, SESSION_NOTE, "{}");
    DID("ANSWERED 7 error SessionGone");
    say(self, SESSION_REVIVED, "{}");
    DID("ANSWERED 7 error SessionGone");
    say(self, SESSION_FILE, "{}");
    DID("");
    assert_int_equal(journal_last_seq(self->journal), 0);
    /* What the gateway itself has done. */
    take(self, session_command_new_text(SESSION_NOTE, 0, "{}"));
    DID("ANSWERED 0 ok");
    assert_int_equal(journal_last_seq(self->journal), 1);
    command(self, SESSION_SHOW);
    DID("ANSWERED 7 ok");
}

static void ends_and_restarts_begin(void **state)
{
    session_t *self = *state;

    command(self, SESSION_RESTART);
    DID("kernel SHUTDOWN; ANSWERED 7 ok");
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
    command(self, SESSION_DELETE);
    DID("");
    assert_int_equal(session_state_sequel(self->state), SEQUEL_NONE);
}

/* Each of them: then a revival, the next request, finds it gone. */
static void a_deletion_is_answered_when_the_session_is_gone(void **state)
{
    session_t *self = *state;

    command(self, SESSION_DELETE);
    take(self, session_command_new(SESSION_DELETE, 8));
    DID("kernel SHUTDOWN; command U");
    assert_true(timers_is_running(self->timers, TIMER_DELETION));
    fake_session_die(self, 0);
    DID("audit session_end deleted by gateway; kill; GONE deleted; "
        "ANSWERED 7 ok; ANSWERED 8 ok; iopub dead");
    assert_false(timers_is_running(self->timers, TIMER_DELETION));
    command(self, SESSION_DELETE);
    DID("ANSWERED 7 error SessionGone");
}

static void a_deletion_that_takes_long_says_so(void **state)
{
    session_t *self = *state;

    command(self, SESSION_DELETE);
    (void) deeds_take();
    deletion_on_timer(self);
    DID("ANSWERED 7 error SessionNotEnded");
    fake_session_die(self, 0);
    DID("audit session_end deleted by gateway; kill; GONE deleted; "
        "iopub dead");
}

static void a_full_workspace_ends_the_session(void **state)
{
    session_t *self = *state;

    say(self, SESSION_FULL, "it is full");
    DID("audit limit workspace by kernel; LIMIT workspace; kill");
    assert_string_equal(self->cause.detail, "it is full");
}

static session_command_t *hand(void)
{
    session_command_t *made = session_command_new(SESSION_HAND, 7);

    made->hand.name = mem_text("mine");
    made->hand.asker = mem_text("uid=1");
    made->hand.tools = mem_text("a");
    made->hand.downloads.packages = mem_text("{1}");
    made->hand.downloads.fetch = mem_text("{2}");
    made->hand.idle_timeout_ms = 1000;
    made->hand.lifetime_ms = 2000;
    made->hand.cell_limit_ms = 3000;
    made->hand.gone_keep_ms = 4000;
    made->hand.restarts = true;
    return made;
}

static void a_member_of_the_pool_gets_a_client(void **state)
{
    session_t *self = *state;
    const session_spec_t *spec = self->spec;

    self->spec->is_pooled = true;
    take(self, hand());
    DID("HANDED; ANSWERED 7 ok; kernel REHEARSE; command O");
    assert_string_equal(spec->name, "mine");
    assert_string_equal(spec->asker, "uid=1");
    assert_string_equal(spec->asked.tools, "a");
    assert_string_equal(spec->asked.downloads.packages, "{1}");
    assert_string_equal(spec->asked.downloads.fetch, "{2}");
    assert_int_equal(spec->times.idle_timeout_ms, 1000);
    assert_int_equal(spec->times.lifetime_ms, 2000);
    assert_int_equal(spec->times.cell_limit_ms, 3000);
    assert_int_equal(spec->times.gone_keep_ms, 4000);
    assert_int_equal(spec->times.created_us, fake_outside.now_ms * 1000);
    assert_true(spec->restarts);
    assert_false(spec->is_pooled);
    assert_true(timers_is_running(self->timers, TIMER_START));
    assert_true(timers_is_running(self->timers, TIMER_IDLE));
    assert_true(timers_is_running(self->timers, TIMER_LIFETIME));
}

/* If its gateway is killed then, the next one must not take it for one that no
 * client had. */
static void a_member_that_cannot_be_described_is_not_handed_out(void **state)
{
    session_t *self = *state;

    self->spec->is_pooled = true;
    free(self->spec->state_folder);
    self->spec->state_folder = mem_text("/proc/none");
    take(self, hand());
    DID("SPENT; kill");
    assert_true(self->spec->is_pooled);
}

static void a_member_that_is_dead_is_not_handed_out(void **state)
{
    session_t *self = *state;

    self->spec->is_pooled = true;
    fake_outside.end.is_known = true;
    take(self, hand());
    DID("SPENT");
    fake_outside.end.is_known = false;
    session_state_step(self->state, STATE_ON_STOP);
    take(self, hand());
    DID("SPENT");
    assert_true(self->spec->is_pooled);
}

static void drain(session_t *self)
{
    session_command_t *made = session_command_new(SESSION_DRAIN, 0);

    made->grace_ms = 500;
    take(self, made);
}

static void a_drained_session_keeps_its_kernel(void **state)
{
    session_t *self = *state;

    drain(self);
    DID("");
    assert_int_equal(session_state_service(self->state), SERVICE_DRAINING);
    control_on_drain(self);
    DID("DRAINED");
    assert_true(session_state_is(self->state, PHASE_IDLE));
}

static void a_running_cell_has_the_grace(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    drain(self);
    fake_outside.now_ms += 499;
    control_on_drain(self);
    DID("");
    assert_int_equal(fake_outside.delay_ms, 20);
    fake_outside.now_ms += 1;
    control_on_drain(self);
    DID("DRAINED");
}

/* Pid 1 would keep the report of its end until there is another gateway. */
static void a_session_that_ends_is_not_left(void **state)
{
    session_t *self = *state;

    shutdown_begin(self, false);
    (void) deeds_take();
    drain(self);
    fake_outside.now_ms += 7999;
    control_on_drain(self);
    DID("");
    end(self);
    control_on_drain(self);
    DID("");
}

static void an_end_that_takes_long_is_not_waited_for(void **state)
{
    session_t *self = *state;

    shutdown_begin(self, false);
    (void) deeds_take();
    drain(self);
    fake_outside.now_ms += 8000;
    control_on_drain(self);
    DID("DRAINED");
}

/* The next gateway finds a kernel by its pid. */
static void a_kernel_that_is_being_made_gets_its_pid(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_RELAUNCH);
    self->spec->process.pid = 0;
    drain(self);
    control_on_drain(self);
    DID("");
    self->spec->process.pid = 4711;
    control_on_drain(self);
    DID("DRAINED");
}

static void a_kernel_that_is_not_made_in_time_ends(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_RELAUNCH);
    self->spec->process.pid = 0;
    drain(self);
    fake_outside.now_ms += 8000;
    control_on_drain(self);
    DID("kill; DRAINED");
}

static void only_a_tombstone_is_forgotten(void **state)
{
    session_t *self = *state;

    command(self, SESSION_FORGET);
    DID("");
    end(self);
    command(self, SESSION_FORGET);
    DID("REMOVED");
}

static void a_session_that_is_alive_is_not_revived(void **state)
{
    session_t *self = *state;

    command(self, SESSION_REVIVE);
    DID("GONE ");
    end(self);
    command(self, SESSION_REVIVE);
    DID("iopub restarting; iopub starting; LAUNCH");
}

/* Its tombstone stays, with the first end. */
static void a_revival_that_cannot_begin_changes_nothing(void **state)
{
    session_t *self = *state;
    char *file = self->spec->connection_file;
    char nowhere[] = "/nonexistent/kernel.json";

    end(self);
    fake_outside.is_journal_lost = true;
    command(self, SESSION_REVIVE);
    DID("GONE deleted");
    fake_outside.is_journal_lost = false;
    self->spec->connection_file = nowhere;
    command(self, SESSION_REVIVE);
    DID("GONE deleted");
    self->spec->connection_file = file;
    assert_true(session_state_is(self->state, PHASE_GONE));
    assert_int_equal(journal_last_seq(self->journal), 0);
}

static void a_frontend_is_attached(void **state)
{
    session_t *self = *state;

    say(self, SESSION_ATTACH, "");
    DID("ANSWERED 7 error NotAttached");
    say(self, SESSION_ATTACH, "http");
    DID("listen http; greet http; ANSWERED 7 ok");
    say(self, SESSION_ATTACH, "http"); /* it was before */
    DID("greet http; ANSWERED 7 ok");
    fake_outside.has_frontend = false;
    session_state_step(self->state, STATE_ON_HOLD);
    say(self, SESSION_ATTACH, "http"); /* its requests wait */
    DID("greet http; ANSWERED 7 ok");
}

static void the_pipe_brings_commands(void **state)
{
    session_t *self = *state;

    fake_outside.command = session_command_new(SESSION_SHOW, 7);
    assert_int_equal(control_on_pipe(NULL, NULL, self), 0);
    DID("ANSWERED 7 ok");
    assert_int_equal(control_on_pipe(NULL, NULL, self), -1);
}

static void a_session_that_could_not_begin_reads_no_requests(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_BREAK);
    command(self, SESSION_SHOW);
    DID("");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_revival_that_cannot_begin_changes_nothing),
        TEST(a_frontend_is_attached),
        TEST(the_pipe_brings_commands),
        TEST(each_command_is_answered),
        TEST(a_session_that_is_gone_refuses),
        TEST(ends_and_restarts_begin),
        TEST(a_deletion_is_answered_when_the_session_is_gone),
        TEST(a_deletion_that_takes_long_says_so),
        TEST(a_full_workspace_ends_the_session),
        TEST(a_member_of_the_pool_gets_a_client),
        TEST(a_member_that_is_dead_is_not_handed_out),
        TEST(a_member_that_cannot_be_described_is_not_handed_out),
        TEST(a_drained_session_keeps_its_kernel),
        TEST(a_running_cell_has_the_grace),
        TEST(a_session_that_ends_is_not_left),
        TEST(an_end_that_takes_long_is_not_waited_for),
        TEST(a_kernel_that_is_being_made_gets_its_pid),
        TEST(a_kernel_that_is_not_made_in_time_ends),
        TEST(only_a_tombstone_is_forgotten),
        TEST(a_session_that_is_alive_is_not_revived),
        TEST(a_session_that_could_not_begin_reads_no_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
