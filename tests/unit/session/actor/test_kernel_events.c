/* Frames from a kernel and their effects: replies and greetings are answered; a
 * link or a journal can fail. Output is in test_kernel_events_output.c. */
#include "gateway/session/actor/kernel_events.h"

#include "gateway/session/actor/dispatch.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/request_queue.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static const char stdout_text[] = "{\"name\":\"stdout\",\"text\":\"hello\"}";
static const char stderr_text[] = "{\"name\":\"stderr\",\"text\":\"hello\"}";

static void says(const session_t *self, uint16_t type, const char *content)
{
    fake_kernel_says(type, fake_running(self), content);
}

static void is_stopped_for(const session_t *self, const char *detail)
{
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_int_equal(self->cause.reason, END_REASON_PROTOCOL);
    assert_non_null(strstr(self->cause.detail, detail));
}

/* --- Requests --- */

static void a_reply_without_a_request_is_refused(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    fake_kernel_replies(fake_running(self) + 1, "{\"status\":\"ok\"}", "");
    kernel_events_read(self);
    is_stopped_for(self, "which is not running");
}

static void a_reply_without_a_running_request_is_refused(void **state)
{
    session_t *self = *state;

    fake_kernel_replies(7, "{\"status\":\"ok\"}", "");
    kernel_events_read(self);
    assert_true(session_state_is(self->state, PHASE_STOPPING));
}

static void the_last_cell_of_a_kernel_that_stops_is_answered(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    session_state_step(self->state, STATE_ON_STOP);
    fake_kernel_replies(fake_running(self), "{\"status\":\"ok\"}", "");
    kernel_events_read(self);
    DID("shell execute_reply ok; iopub idle; audit cell_end ok by client=me");
}

static void a_cell_that_fails_aborts_those_that_have_come(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    fake_client_sends(CHANNEL_SHELL, "m2", "execute_request",
                      "{\"code\":\"2\"}");
    fake_kernel_replies(fake_running(self),
                        "{\"status\":\"error\",\"ename\":\"E\","
                        "\"evalue\":\"v\",\"traceback\":[]}",
                        "");
    kernel_events_read(self);
    DID("shell execute_reply error; iopub idle; "
        "audit cell_end error by client=me; "
        "iopub busy; shell execute_reply aborted; iopub idle");
}

static void answers_to_an_interrupt_are_heard(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    dispatch_on_cell_limit(self);
    timers_stop(self->timers, TIMER_INTERRUPT);
    fake_kernel_says(FRAME_MARKED, fake_outside.sent, "{}");
    kernel_events_read(self);
    assert_true(timers_is_running(self->timers, TIMER_INTERRUPT));
    assert_true(interrupt_is_kept(self->interrupt));
    says(self, FRAME_STRUCK, "{\"taken\":false}");
    kernel_events_read(self);
    assert_int_equal(fake_outside.delay_ms, INTERRUPT_RETRY_MS);
    assert_true(interrupt_is_kept(self->interrupt));
    says(self, FRAME_STRUCK, "{\"taken\":true}");
    kernel_events_read(self);
    assert_false(interrupt_is_kept(self->interrupt));
    says(self, FRAME_YIELDED, "{}");
    kernel_events_read(self);
    assert_int_equal(fake_outside.delay_ms, INTERRUPT_ANSWER_MS);
    assert_int_equal(kernel_link_seq(self->link), 4);
}

static void a_welcome_says_whether_signals_are_reported(void **state)
{
    static const struct {
        const char *welcome;
        bool reports;
    } welcomes[] = {
        {"{\"last\":0,\"struck\":true}", true},
        {"{\"last\":0}", false},
        {"{\"last\":0,\"struck\":1}", false},
    };
    session_t *self = *state;

    for (size_t i = 0; i < sizeof welcomes / sizeof *welcomes; i++) {
        session_state_step(self->state, STATE_ON_HELLO);
        fake_kernel_says(FRAME_WELCOME, 0, welcomes[i].welcome);
        kernel_events_read(self);
        assert_int_equal(interrupt_is_kept(self->interrupt),
                         welcomes[i].reports);
    }
}

static void a_kernel_says_that_it_is_ready(void **state)
{
    static const char info[] = "{\"protocol_version\":\"5.4\","
                               "\"language_info\":{},\"banner\":\"\"}";
    session_t *self = *state;

    buffer_clear(&self->info);
    session_state_step(self->state, STATE_ON_RELAUNCH);
    session_state_step(self->state, STATE_ON_HELLO);
    session_state_step(self->state, STATE_ON_WELCOME);
    request_queue_set_next_count(self->requests, 5);
    fake_kernel_says(FRAME_READY, 0, info);
    kernel_events_read(self);
    DID("READY");
    assert_true(session_state_is(self->state, PHASE_IDLE));
    assert_int_equal(self->info.size, strlen(info));
    assert_memory_equal(self->info.data, info, strlen(info));
    assert_int_equal(request_queue_next_count(self->requests), 1);
}

static void a_reply_while_it_stops_is_no_breach(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_STOP);
    fake_kernel_replies(7, "{\"status\":\"ok\"}", "");
    kernel_events_read(self);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
}

static void a_malformed_reply_is_refused(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    fake_kernel_replies(fake_running(self), "{}", "");
    kernel_events_read(self);
    is_stopped_for(self, "request ");
}

static void a_question_without_a_request_is_refused(void **state)
{
    session_t *self = *state;

    fake_kernel_says(FRAME_INPUT_REQUEST, 3,
                     "{\"prompt\":\"\",\"password\":false}");
    kernel_events_read(self);
    assert_true(session_state_is(self->state, PHASE_STOPPING));
}

static void the_kind_of_a_question_is_kept(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    says(self, FRAME_INPUT_REQUEST, "{\"prompt\":\"\",\"password\":true}");
    kernel_events_read(self);
    assert_int_equal(request_queue_input(self->requests),
                     REQUEST_QUEUE_PASSWORD);
    says(self, FRAME_INPUT_REQUEST, "{\"prompt\":\"\",\"password\":false}");
    kernel_events_read(self);
    assert_int_equal(request_queue_input(self->requests), REQUEST_QUEUE_TEXT);
}

/* --- The link --- */

static void greet(session_t *self)
{
    session_state_step(self->state, STATE_ON_HELLO);
}

static void a_welcome_repeats_what_may_not_have_arrived(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    greet(self);
    fake_kernel_says(FRAME_WELCOME, 0, "{\"last\":0}");
    kernel_events_read(self);
    assert_true(session_state_is_greeted(self->state));
    DID("kernel EXECUTE");
}

static void a_welcome_says_whether_the_cell_awaits(void **state)
{
    static const struct {
        const char *welcome, *did;
    } welcomes[] = {
        {"{\"last\":0}", "kernel EXECUTE"},
        {"{\"last\":0,\"awaiting\":false}", "kernel EXECUTE"},
        {"{\"last\":0,\"awaiting\":true}",
         "kernel EXECUTE; kernel COMM_MSG_IN; iopub busy"},
    };
    session_t *self = *state;

    fake_session_run(self);
    fake_client_sends(CHANNEL_SHELL, "comm", "comm_msg",
                      "{\"comm_id\":\"x\",\"data\":{}}");
    receive_on_shell(NULL, NULL, self);
    for (size_t i = 0; i < sizeof welcomes / sizeof *welcomes; i++) {
        greet(self);
        fake_kernel_says(FRAME_WELCOME, 0, welcomes[i].welcome);
        kernel_events_read(self);
        DID(welcomes[i].did);
    }
}

static void an_answered_request_is_not_repeated(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    request_queue_running(self->requests)->progress = REQUEST_ANSWERED;
    greet(self);
    fake_kernel_says(FRAME_WELCOME, 0, "{\"last\":0}");
    kernel_events_read(self);
    DID("");
}

static void a_second_welcome_is_refused(void **state)
{
    session_t *self = *state;

    fake_kernel_says(FRAME_WELCOME, 0, "{\"last\":0}");
    kernel_events_read(self);
    is_stopped_for(self, "a second WELCOME");
}

static void a_welcome_may_refuse(void **state)
{
    session_t *self = *state;

    greet(self);
    fake_kernel_says(FRAME_WELCOME, 0, "{\"error\":\"version 9\"}");
    kernel_events_read(self);
    is_stopped_for(self, "version 9");
}

static void a_kernel_that_forgot_events_is_stopped(void **state)
{
    session_t *self = *state;

    kernel_link_set_seq(self->link, 5);
    greet(self);
    fake_kernel_says(FRAME_WELCOME, 0, "{\"last\":4}");
    kernel_events_read(self);
    is_stopped_for(self, "forgets");
}

static void a_kernel_that_remembers_all_events_is_greeted(void **state)
{
    session_t *self = *state;

    kernel_link_set_seq(self->link, 5);
    greet(self);
    fake_kernel_says(FRAME_WELCOME, 0, "{\"last\":5}");
    kernel_events_read(self);
    assert_true(session_state_is_greeted(self->state));
}

static void a_welcome_that_is_no_json_is_refused(void **state)
{
    session_t *self = *state;

    greet(self);
    fake_kernel_says(FRAME_WELCOME, 0, "{");
    kernel_events_read(self);
    is_stopped_for(self, "not JSON");
}

static void events_begin_after_the_welcome(void **state)
{
    session_t *self = *state;

    greet(self);
    fake_kernel_says(FRAME_STREAM, 0, stdout_text);
    kernel_events_read(self);
    is_stopped_for(self, "before WELCOME");
}

static void an_event_is_taken_once(void **state)
{
    session_t *self = *state;

    kernel_link_set_seq(self->link, 1);
    fake_kernel_says(FRAME_STREAM, 0, stdout_text);
    fake_kernel_says(FRAME_STREAM, 0, stderr_text);
    kernel_events_read(self);
    DID("iopub stream");
    HAS("stderr", "stream");
}

static void a_missing_event_is_a_breach(void **state)
{
    session_t *self = *state;

    fake_kernel_says(FRAME_STREAM, 0, stdout_text);
    kernel_events_read(self);
    kernel_link_set_seq(self->link, 0);
    fake_kernel_says(FRAME_STREAM, 0, stdout_text);
    kernel_events_read(self);
    is_stopped_for(self, "event 2 where 1 is next");
}

/* The session serves its clients in between. */
static void a_kernel_that_says_much_is_read_in_turns(void **state)
{
    session_t *self = *state;

    fake_outside.is_piecewise = true;
    for (int i = 0; i < 33; i++)
        fake_kernel_says(FRAME_MARKED, 1, "{}");
    kernel_events_read(self);
    assert_int_equal(kernel_link_seq(self->link), 32);
    kernel_events_read(self);
    assert_int_equal(kernel_link_seq(self->link), 33);
}

static void a_kernel_that_says_nothing_is_read_once(void **state)
{
    session_t *self = *state;

    kernel_events_read(self);
    assert_int_equal(fake_outside.reads, 1);
}

static void a_closed_link_waits_for_the_end(void **state)
{
    session_t *self = *state;

    fake_outside.is_closed = true;
    kernel_events_read(self);
    assert_false(kernel_link_is_connected(self->link));
    assert_true(timers_is_running(self->timers, TIMER_LINK));
    kernel_events_on_link(self);
    is_stopped_for(self, "closed its link");
}

static void a_restored_link_ends_nothing(void **state)
{
    session_t *self = *state;

    kernel_events_on_link(self);
    assert_true(session_state_is(self->state, PHASE_IDLE));
}

static void a_kernel_that_stops_may_close_its_link(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_STOP);
    fake_outside.is_closed = true;
    kernel_events_read(self);
    assert_false(timers_is_running(self->timers, TIMER_LINK));
}

/* --- The journal --- */

static void without_a_journal_the_link_is_cut(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    fake_outside.is_journal_lost = true;
    says(self, FRAME_DISPLAY, "{\"data\":{},\"metadata\":{}}");
    kernel_events_read(self);
    DID("");
    assert_int_equal(session_state_link(self->state), LINK_STUCK);
    assert_false(kernel_link_is_connected(self->link));
    assert_true(timers_is_running(self->timers, TIMER_JOURNAL));
    /* The journal is tried again; for a while the client gets no error. */
    fake_outside.now_ms += 5000;
    kernel_events_on_journal(self);
    DID("");
    fake_outside.now_ms += 1;
    kernel_events_on_journal(self);
    DID("iopub error; shell execute_reply error; iopub idle");
    HAS("JournalError", "execute_reply");
    kernel_events_on_journal(self);
    DID("");
    fake_outside.is_journal_lost = false;
    kernel_events_on_journal(self);
    DID("kernel HELLO 0");
    assert_int_equal(session_state_link(self->state), LINK_GREETING);
}

static void the_journal_of_a_session_without_a_kernel_is_left(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_EXIT);
    kernel_events_on_journal(self);
    kernel_link_close(self->link);
    session_state_step(self->state, STATE_ON_RELAUNCH);
    kernel_events_on_journal(self);
    assert_int_equal(journal_last_seq(self->journal), 0);
}

static void a_kernel_that_is_lost_meanwhile_ends(void **state)
{
    session_t *self = *state;

    fake_outside.is_journal_lost = true;
    fake_kernel_says(FRAME_DISPLAY, 0, "{\"data\":{},\"metadata\":{}}");
    kernel_events_read(self);
    fake_outside.is_journal_lost = false;
    fake_outside.is_connectable = false;
    kernel_events_on_journal(self);
    assert_int_equal(self->cause.reason, END_REASON_LOST);
}

/* --- Slow peers --- */

static void a_kernel_is_not_read_while_peers_are_slow(void **state)
{
    session_t *self = *state;

    fake_outside.backlog = 2 << 20;
    fake_kernel_says(FRAME_STREAM, 0, stdout_text);
    kernel_events_read(self);
    DID("");
    assert_true(timers_is_running(self->timers, TIMER_OUTPUTS));
    fake_outside.now_ms += 9000;
    kernel_events_on_outputs(self);
    DID("");
    fake_outside.now_ms += 2000;
    kernel_events_on_outputs(self);
    DID("cut iopub");
    fake_outside.backlog = 0;
    kernel_events_on_outputs(self);
    DID("iopub stream");
}

static void a_link_that_was_cut_meanwhile_is_not_read(void **state)
{
    session_t *self = *state;

    fake_outside.backlog = 2 << 20;
    fake_kernel_says(FRAME_STREAM, 0, stdout_text);
    kernel_events_read(self);
    kernel_link_cut(self->link);
    fake_outside.backlog = 0;
    kernel_events_on_outputs(self);
    assert_int_equal(fake_outside.reads, 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reply_without_a_request_is_refused),
        TEST(a_reply_without_a_running_request_is_refused),
        TEST(the_last_cell_of_a_kernel_that_stops_is_answered),
        TEST(a_cell_that_fails_aborts_those_that_have_come),
        TEST(answers_to_an_interrupt_are_heard),
        TEST(a_welcome_says_whether_signals_are_reported),
        TEST(a_kernel_says_that_it_is_ready),
        TEST(a_reply_while_it_stops_is_no_breach),
        TEST(a_malformed_reply_is_refused),
        TEST(a_question_without_a_request_is_refused),
        TEST(the_kind_of_a_question_is_kept),
        TEST(a_welcome_repeats_what_may_not_have_arrived),
        TEST(a_welcome_says_whether_the_cell_awaits),
        TEST(an_answered_request_is_not_repeated),
        TEST(a_second_welcome_is_refused),
        TEST(a_welcome_may_refuse),
        TEST(a_kernel_that_forgot_events_is_stopped),
        TEST(a_kernel_that_remembers_all_events_is_greeted),
        TEST(a_welcome_that_is_no_json_is_refused),
        TEST(events_begin_after_the_welcome),
        TEST(an_event_is_taken_once),
        TEST(a_missing_event_is_a_breach),
        TEST(a_kernel_that_says_much_is_read_in_turns),
        TEST(a_kernel_that_says_nothing_is_read_once),
        TEST(a_closed_link_waits_for_the_end),
        TEST(a_restored_link_ends_nothing),
        TEST(a_kernel_that_stops_may_close_its_link),
        TEST(without_a_journal_the_link_is_cut),
        TEST(the_journal_of_a_session_without_a_kernel_is_left),
        TEST(a_kernel_that_is_lost_meanwhile_ends),
        TEST(a_kernel_is_not_read_while_peers_are_slow),
        TEST(a_link_that_was_cut_meanwhile_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
