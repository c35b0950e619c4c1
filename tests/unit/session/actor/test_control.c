/* The registry's commands to a session: their effects and their answers. */
#include "gateway/session/actor/control.h"

#include "gateway/session/actor/receive.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/core/deletion.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/shutdown.h"
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

static void end(session_t *self)
{
    snprintf(self->spec->end.reason, sizeof self->spec->end.reason, "deleted");
    self->spec->end.detail = mem_text("ended");
    session_state_step(self->state, STATE_ON_EXIT);
}

/* --- Interrupts --- */

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

/* --- The others --- */

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
    say(self, SESSION_NOTE, "{}");
    DID("ANSWERED 7 error SessionGone");
    say(self, SESSION_REVIVED, "{}");
    DID("ANSWERED 7 error SessionGone");
    say(self, SESSION_FILE, "{}");
    DID("");
    assert_int_equal(journal_last_seq(self->journal), 0);
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
    DID("command O; HANDED; ANSWERED 7 ok; kernel REHEARSE");
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
        TEST(an_interrupt_has_an_outcome),
        TEST(an_interrupt_of_one_request),
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
