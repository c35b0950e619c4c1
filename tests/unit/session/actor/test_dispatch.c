/* A request on its way to the kernel and back, with all that clients, journal
 * and audit log get of it. */
#include "gateway/session/actor/dispatch.h"

#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/seed_runner.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_missing.h"
#include "tests/lib/checked.h"
#include "tests/lib/session_fakes.h"

#include <errno.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static void request(session_t *self, const char *id, const char *type,
                    const char *content)
{
    fake_client_sends(CHANNEL_SHELL, id, type, content);
    receive_on_shell(NULL, NULL, self);
}

static void send_cell(session_t *self)
{
    request(self, "cell", "execute_request", "{\"code\":\"1\"}");
}

static void reply(session_t *self, const char *content)
{
    fake_kernel_replies(fake_running(self), content,
                        "{\"hearth\":{\"next_count\":2}}");
    kernel_events_read(self);
}

static void a_cell_is_sent_and_its_reply_returned(void **state)
{
    session_t *self = *state;

    request(self, "m1", "execute_request", "{\"code\":\"1+1\"}");
    DID("kernel EXECUTE; audit cell_start ok by client=me; iopub busy; "
        "iopub execute_input");
    HAS("\"code\":\"1+1\"", "execute_input");
    HAS("\"execution_count\":1", "execute_input");
    HAS("\"hearth\":{\"header\":{\"msg_id\":\"m1\"", "metadata");
    assert_true(session_state_is(self->state, PHASE_BUSY));
    reply(self, "{\"status\":\"ok\",\"execution_count\":1}");
    DID("shell execute_reply ok; iopub idle; audit cell_end ok by client=me");
    assert_true(session_state_is(self->state, PHASE_IDLE));
    assert_false(timers_is_running(self->timers, TIMER_CELL));
}

static void a_silent_cell_shows_no_input(void **state)
{
    session_t *self = *state;

    request(self, "m1", "execute_request", "{\"code\":\"1\",\"silent\":true}");
    DID("kernel EXECUTE; audit cell_start ok by client=me; iopub busy");
}

static void the_kernel_gets_the_metadata_of_the_client(void **state)
{
    session_t *self = *state;

    fake_client_sends_with(CHANNEL_SHELL, "m1", "execute_request",
                           "{\"code\":\"1\"}", "{\"cellId\":\"c\" }");
    receive_on_shell(NULL, NULL, self);
    HAS("{\"cellId\":\"c\" ,\"hearth\":{\"header\":{", "metadata");
}

static void other_requests_do_not_count_as_cells(void **state)
{
    session_t *self = *state;

    self->spec->times.cell_limit_ms = 1000;
    request(self, "m1", "complete_request",
            "{\"code\":\"a\",\"cursor_pos\":1}");
    DID("kernel COMPLETE; iopub busy");
    assert_false(timers_is_running(self->timers, TIMER_CELL));
    reply(self, "{\"status\":\"ok\"}");
    DID("shell complete_reply ok; iopub idle");
}

static void requests_wait_for_their_turn(void **state)
{
    session_t *self = *state;

    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    (void) deeds_take();
    request(self, "m2", "execute_request", "{\"code\":\"2\"}");
    DID("");
    reply(self, "{\"status\":\"ok\"}");
    DID("shell execute_reply ok; iopub idle; audit cell_end ok by client=me; "
        "kernel EXECUTE; audit cell_start ok by client=me; iopub busy; "
        "iopub execute_input");
    HAS("\"code\":\"2\"", "execute_input");
}

static void an_error_aborts_the_cells_that_have_come(void **state)
{
    session_t *self = *state;

    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    request(self, "m2", "execute_request", "{\"code\":\"2\"}");
    request(self, "m3", "complete_request", "{\"code\":\"\",\"cursor_pos\":0}");
    (void) deeds_take();
    /* It was not read yet, and counts. */
    fake_client_sends(CHANNEL_SHELL, "m4", "execute_request",
                      "{\"code\":\"4\"}");
    reply(self, "{\"status\":\"error\",\"ename\":\"E\",\"evalue\":\"v\","
                "\"traceback\":[]}");
    DID("shell execute_reply error; iopub idle; audit cell_end error by "
        "client=me; "
        "iopub busy; shell execute_reply aborted; iopub idle; "
        "iopub busy; shell execute_reply aborted; iopub idle; "
        "kernel COMPLETE; iopub busy");
}

static void stop_on_error_false_aborts_nothing(void **state)
{
    session_t *self = *state;

    request(self, "m1", "execute_request",
            "{\"code\":\"1\",\"stop_on_error\":false}");
    request(self, "m2", "execute_request", "{\"code\":\"2\"}");
    (void) deeds_take();
    reply(self, "{\"status\":\"error\",\"ename\":\"E\",\"evalue\":\"v\","
                "\"traceback\":[]}");
    DID("shell execute_reply error; iopub idle; audit cell_end error by "
        "client=me; "
        "kernel EXECUTE; audit cell_start ok by client=me; iopub busy; "
        "iopub execute_input");
}

static void a_cell_past_its_time_is_interrupted(void **state)
{
    session_t *self = *state;

    self->spec->times.cell_limit_ms = 1500;
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    assert_true(timers_is_running(self->timers, TIMER_CELL));
    assert_int_equal(fake_outside.delay_ms, 1500);
    (void) deeds_take();
    dispatch_on_cell_limit(self);
    DID("command I; kernel MARK");
    reply(self, "{\"status\":\"error\",\"ename\":\"KeyboardInterrupt\","
                "\"evalue\":\"\",\"traceback\":[]}");
    HAS("\"ename\":\"TimeLimitExceeded\"", "execute_reply");
    HAS("its time limit of 1.5 s", "execute_reply");
    assert_int_equal(interrupt_limit(self->interrupt), CELL_LIMIT_NONE);
}

static void a_cell_that_catches_the_interrupt_gets_a_remark(void **state)
{
    session_t *self = *state;

    self->spec->times.cell_limit_ms = 1500;
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    dispatch_on_cell_limit(self);
    (void) deeds_take();
    reply(self, "{\"status\":\"ok\"}");
    DID("iopub stream; shell execute_reply ok; iopub idle; "
        "audit cell_end ok by client=me");
    HAS("which it caught]\\n", "stream");
}

static void a_cell_that_prints_too_much_gets_no_remark_on_its_time(void **state)
{
    session_t *self = *state;

    send_cell(self);
    escalation_begin_for_limit(self, CELL_LIMIT_OUTPUT);
    (void) deeds_take();
    reply(self, "{\"status\":\"ok\"}");
    DID("shell execute_reply ok; iopub idle; "
        "audit cell_end ok by client=me");
}

/* Counts a call of a host tool; false if that is one too many for a cell. */
static bool may_call(session_t *self)
{
    tool_limit_t limit;
    fault_t fault;

    return tool_calls_count(self->tools.calls, 0, &limit, &fault) == 0;
}

/* By the next gateway, after a take-over. */
static void a_cell_that_is_sent_again_keeps_its_count_of_calls(void **state)
{
    session_t *self = *state;
    message_t *message;
    request_t *again;

    self->spec->limits.tool_calls = 1;
    send_cell(self);
    assert_true(may_call(self));
    assert_false(may_call(self));
    message = message_new(text_bytes("{\"msg_id\":\"m\",\"session\":\"me\","
                                     "\"msg_type\":\"execute_request\"}"),
                          text_bytes("{}"), text_bytes("{}"),
                          text_bytes("{\"code\":\"1\"}"));
    again = request_new(7, CHANNEL_SHELL, &message);
    again->progress = REQUEST_STARTED;
    reply(self, "{\"status\":\"ok\"}");
    dispatch_start(self, &again);
    assert_true(request_queue_runs_cell(self->requests));
    assert_false(may_call(self));
    reply(self, "{\"status\":\"ok\"}");
    request(self, "next", "execute_request", "{\"code\":\"1\"}");
    assert_true(may_call(self));
}

/* Has the kernel say the reply of the running cell, which is its event 1. */
static int finish(session_t *self)
{
    static const char content[] = "{\"status\":\"ok\"}";
    static const char metadata[] =
        "{\"next_count\":2,\"hearth\":{\"limits\":[{"
        "\"limit\":\"open_files\",\"used\":257,\"max\":256}]}}";
    frame_t frame = {
        .type = FRAME_REPLY,
        .request = fake_running(self),
        .seq = 1,
        .content = text_bytes(content),
        .metadata = text_bytes(metadata),
    };
    kernel_permissions_content_t read = {
        .metadata = checked(metadata),
        .object = checked(content),
    };
    fault_t fault;

    return dispatch_finish(self, &frame, &read, false, &fault);
}

static void a_reply_that_is_not_journaled_is_the_same_again(void **state)
{
    session_t *self = *state;

    send_cell(self);
    tool_missing_note(&self->tools.missing, text_bytes("{\"status\":\"ok\"}"),
                      text_bytes("{\"status\":\"error\",\"evalue\":\"gone\"}"));
    (void) deeds_take();
    fake_outside.is_journal_lost = true;
    assert_int_equal(finish(self), -ENOSPC);
    assert_int_equal(finish(self), -ENOSPC);
    DID("");
    assert_int_equal(request_queue_next_count(self->requests), 1);
    fake_outside.is_journal_lost = false;
    assert_int_equal(finish(self), 0);
    HAS("\"missing\":[\"gone\"]", "reply metadata");
    HAS("\"limit\":\"open_files\",\"max\":256,\"used\":257,\"cell\":1",
        "journal limit");
    assert_int_equal(request_queue_next_count(self->requests), 2);
    assert_int_equal(self->tools.missing.size, 0);
}

static void a_remark_is_not_repeated_with_its_reply(void **state)
{
    session_t *self = *state;

    send_cell(self);
    dispatch_on_cell_limit(self);
    (void) deeds_take();
    fake_outside.is_reply_lost = true;
    assert_int_equal(finish(self), -ENOSPC);
    DID("iopub stream");
    fake_outside.is_reply_lost = false;
    assert_int_equal(finish(self), 0);
    assert_null(strstr(deeds_take(), "iopub stream"));
}

static void the_limit_waits_until_the_kernel_is_heard(void **state)
{
    session_t *self = *state;

    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    (void) deeds_take();
    session_state_step(self->state, STATE_ON_HELLO);
    dispatch_on_cell_limit(self);
    DID("");
    assert_true(timers_is_running(self->timers, TIMER_CELL));
    assert_int_equal(fake_outside.delay_ms, 200);
    session_state_step(self->state, STATE_ON_WELCOME);
    session_state_step(self->state, STATE_ON_HOLD);
    dispatch_on_cell_limit(self);
    DID("");
}

static void a_stopping_gateway_starts_no_request(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_DRAIN);
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    DID("");
    assert_int_equal(request_queue_size(self->requests), 1);
}

static void no_request_starts_while_replies_are_not_taken(void **state)
{
    session_t *self = *state;

    fake_client_sends(CHANNEL_SHELL, "m1", "execute_request",
                      "{\"code\":\"1\"}");
    fake_outside.replies = 2 << 20;
    receive_on_shell(NULL, NULL, self);
    DID("leave shell");
    assert_true(timers_is_running(self->timers, TIMER_REPLIES));
    fake_outside.replies = 0;
    dispatch_on_replies(self);
    DID("resume");
    receive_on_shell(NULL, NULL, self);
    DID("kernel EXECUTE; audit cell_start ok by client=me; iopub busy; "
        "iopub execute_input");
}

static void a_request_that_is_not_journaled_is_not_run(void **state)
{
    session_t *self = *state;

    fake_outside.is_journal_lost = true;
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    DID("iopub busy; iopub error; shell execute_reply error; iopub idle");
    HAS("JournalError", "execute_reply");
}

/* --- Beside a cell that awaits --- */

static void await_something(session_t *self)
{
    send_cell(self);
    fake_kernel_says(FRAME_AWAITING, fake_running(self), "{}");
    kernel_events_read(self);
    (void) deeds_take();
}

static void a_comm_message_reaches_a_cell_that_awaits(void **state)
{
    session_t *self = *state;

    send_cell(self);
    request(self, "c1", "comm_msg", "{\"comm_id\":\"x\",\"data\":{}}");
    (void) deeds_take();
    fake_kernel_says(FRAME_AWAITING, fake_running(self), "{}");
    kernel_events_read(self);
    DID("kernel COMM_MSG_IN; iopub busy");
    request(self, "c2", "comm_msg", "{\"comm_id\":\"x\",\"data\":{}}");
    DID("kernel COMM_MSG_IN; iopub busy");
    request(self, "m3", "execute_request", "{\"code\":\"3\"}");
    DID("");
}

/* A frontend shows the last state that it has read. */
static void a_comm_message_ends_and_the_cell_is_still_busy(void **state)
{
    session_t *self = *state;
    uint64_t number;

    await_something(self);
    request(self, "c1", "comm_msg", "{\"comm_id\":\"x\",\"data\":{}}");
    number = request_queue_first(self->requests)->number;
    (void) deeds_take();
    fake_kernel_says(FRAME_REPLY, number, "{\"status\":\"ok\"}");
    kernel_events_read(self);
    DID("iopub idle; iopub busy");
    assert_int_equal(request_queue_size(self->requests), 0);
    assert_true(request_queue_runs_cell(self->requests));
}

static void a_comm_message_waits_for_the_link(void **state)
{
    session_t *self = *state;

    await_something(self);
    session_state_step(self->state, STATE_ON_HELLO);
    request(self, "c1", "comm_msg", "{\"comm_id\":\"x\",\"data\":{}}");
    DID("");
}

static void a_gateway_that_stops_passes_no_comm_message(void **state)
{
    session_t *self = *state;

    await_something(self);
    session_state_step(self->state, STATE_ON_DRAIN);
    request(self, "c1", "comm_msg", "{\"comm_id\":\"x\",\"data\":{}}");
    DID("");
}

static void replies_to_absent_clients_are_tried_again(void **state)
{
    session_t *self = *state;

    dispatch_settle(self);
    dispatch_on_retry(self);
    assert_false(timers_is_running(self->timers, TIMER_RETRY));
    fake_outside.is_holding = true;
    dispatch_settle(self);
    assert_true(timers_is_running(self->timers, TIMER_RETRY));
    timers_stop(self->timers, TIMER_RETRY);
    dispatch_on_retry(self);
    assert_true(timers_is_running(self->timers, TIMER_RETRY));
}

static void the_seed_runs_before_any_client(void **state)
{
    static char one[] = "a = 1", two[] = "b = 2";
    static char *cells[] = {one, two, NULL};
    session_t *self = *state;

    fake_session_profile.seed_cells = cells;
    assert_true(seed_runner_begin(self->start.seed));
    dispatch_settle(self);
    DID("kernel EXECUTE; iopub busy; iopub execute_input");
    HAS("a = 1", "EXECUTE");
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    DID("");
    reply(self, "{\"status\":\"ok\"}");
    HAS("b = 2", "EXECUTE");
    (void) deeds_take();
    reply(self, "{\"status\":\"ok\"}");
    DID("iopub idle; READY; kernel EXECUTE; "
        "audit session_start ok by gateway; audit cell_start ok by client=me; "
        "iopub busy; iopub execute_input");
    assert_false(self->spec->seed.is_running);
}

static void a_seed_that_fails_ends_the_session(void **state)
{
    static char one[] = "1/0";
    static char *cells[] = {one, NULL};
    session_t *self = *state;

    fake_session_profile.seed_cells = cells;
    assert_true(seed_runner_begin(self->start.seed));
    dispatch_settle(self);
    reply(self, "{\"status\":\"error\",\"ename\":\"ZeroDivisionError\","
                "\"evalue\":\"division\",\"traceback\":[]}");
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_int_equal(self->cause.reason, END_REASON_LAUNCH);
    assert_non_null(strstr(self->cause.detail, "ZeroDivisionError"));
}

static void a_session_that_ends_in_its_seed_is_not_ready(void **state)
{
    static char one[] = "a = 1";
    static char *cells[] = {one, NULL};
    session_t *self = *state;

    fake_session_profile.seed_cells = cells;
    assert_true(seed_runner_begin(self->start.seed));
    dispatch_settle(self);
    stop_begin(self, END_REASON_DELETED, "ended on request");
    (void) deeds_take();
    reply(self, "{\"status\":\"ok\"}");
    assert_null(strstr(deeds_take(), "READY"));
    assert_true(self->spec->seed.is_running);
}

static void a_seed_without_a_journal_ends_the_session(void **state)
{
    static char one[] = "1";
    static char *cells[] = {one, NULL};
    session_t *self = *state;

    fake_session_profile.seed_cells = cells;
    assert_true(seed_runner_begin(self->start.seed));
    fake_outside.is_journal_lost = true;
    dispatch_settle(self);
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_non_null(strstr(self->cause.detail, "the seed was not run"));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cell_is_sent_and_its_reply_returned),
        TEST(a_silent_cell_shows_no_input),
        TEST(the_kernel_gets_the_metadata_of_the_client),
        TEST(other_requests_do_not_count_as_cells),
        TEST(requests_wait_for_their_turn),
        TEST(an_error_aborts_the_cells_that_have_come),
        TEST(stop_on_error_false_aborts_nothing),
        TEST(a_cell_past_its_time_is_interrupted),
        TEST(a_cell_that_catches_the_interrupt_gets_a_remark),
        TEST(a_cell_that_prints_too_much_gets_no_remark_on_its_time),
        TEST(a_cell_that_is_sent_again_keeps_its_count_of_calls),
        TEST(a_reply_that_is_not_journaled_is_the_same_again),
        TEST(a_remark_is_not_repeated_with_its_reply),
        TEST(the_limit_waits_until_the_kernel_is_heard),
        TEST(a_stopping_gateway_starts_no_request),
        TEST(no_request_starts_while_replies_are_not_taken),
        TEST(a_request_that_is_not_journaled_is_not_run),
        TEST(a_comm_message_reaches_a_cell_that_awaits),
        TEST(a_comm_message_ends_and_the_cell_is_still_busy),
        TEST(a_comm_message_waits_for_the_link),
        TEST(a_gateway_that_stops_passes_no_comm_message),
        TEST(replies_to_absent_clients_are_tried_again),
        TEST(the_seed_runs_before_any_client),
        TEST(a_seed_that_fails_ends_the_session),
        TEST(a_session_that_ends_in_its_seed_is_not_ready),
        TEST(a_seed_without_a_journal_ends_the_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
