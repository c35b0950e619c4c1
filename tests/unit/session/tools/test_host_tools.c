/* Host tools of a session: from the kernel's call to the answer of a process,
 * calls without a process, and the state after a take-over. */
#include "gateway/session/tools/host_tools.h"

#include "gateway/session/actor/recovery.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/requests/request_queue.h"
#include "tests/lib/host_tool_steps.h"

#include <string.h>

static void a_call_goes_to_the_process_and_back(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_take(self, 5, 0);
    DID("");
    steps_call(self, 11, "t");
    DID("ANSWERED 5 ok");
    HAS("\"name\":\"t\",\"arguments\":{\"q\":1}", "calls");
    steps_answer(self, TOOLS_ANSWER, steps_waiting(self), "[1]");
    DID("kernel CALLED; audit tool_call ok by token=1; ANSWERED 3 ok");
    assert_int_equal(fake_outside.sent, 11);
    HAS("{\"result\":[1]}", "CALLED");
    assert_int_equal(steps_waiting(self), 0);
    steps_take(self, 6, 0);
    DID("");
}

/* A kernel that does not ask for it, as an older one, would take it for the
 * answer. */
static void the_kernel_sees_how_far_a_call_has_come(void **state)
{
    session_t *self = *state;
    uint64_t id;

    steps_ready(self);
    steps_call(self, 11, "t");
    (void) deeds_take();
    steps_answer(self, TOOLS_PROGRESS, steps_waiting(self), "{\"bytes\":7}");
    DID("");
    fake_kernel_says(FRAME_CALL, fake_running(self),
                     "{\"call\":12,\"name\":\"t\",\"arguments\":{},"
                     "\"progress\":true}");
    kernel_events_read(self);
    (void) deeds_take();
    id = tool_calls_first(self->tools.calls)->next->id;
    steps_answer(self, TOOLS_PROGRESS, id, "{\"bytes\":7}");
    DID("kernel CALLED");
    assert_int_equal(fake_outside.sent, 12);
    HAS("{\"progress\":{\"bytes\":7}}", "CALLED");
    steps_answer(self, TOOLS_ANSWER, id, "1");
    (void) deeds_take();
    steps_answer(self, TOOLS_PROGRESS, id, "{\"bytes\":8}");
    DID("");
}

static void the_tools_are_given_to_the_kernel(void **state)
{
    session_t *self = *state;

    steps_offer(self, "[{\"name\":\"t\",\"description\":\"d\"}]");
    DID("audit tools registered by token=1; kernel TOOLS; ANSWERED 1 ok");
    HAS("{\"tools\":[{\"name\":\"t\",\"description\":\"d\"", "TOOLS");
    HAS("\"seconds\":60}", "TOOLS");
    steps_greet(self, steps_welcome);
    DID("kernel TOOLS");
    control_take(self, (session_command_t *[]){steps_order(TOOLS_REMOVE, 4)});
    DID("audit tools removed by token=1; kernel TOOLS; ANSWERED 4 ok");
    HAS("{\"tools\":[],", "TOOLS");
}

/* It would close the link. */
static void an_older_kernel_gets_no_such_frames(void **state)
{
    session_t *self = *state;

    steps_greet(self, "{\"protocol\":1,\"last\":0}");
    steps_offer(self, "[{\"name\":\"t\"}]");
    DID("audit tools registered by token=1; ANSWERED 1 ok");
}

static void the_first_answer_counts(void **state)
{
    session_t *self = *state;
    uint64_t id;

    steps_ready(self);
    steps_call(self, 11, "t");
    id = steps_waiting(self);
    steps_answer(self, TOOLS_FAIL, id, "no \"rain\"");
    HAS("{\"error\":{\"reason\":\"failed\",\"text\":\"no \\\"rain\\\"\"}}",
        "CALLED");
    (void) deeds_take();
    steps_answer(self, TOOLS_ANSWER, id, "1");
    DID("ANSWERED 3 error CallEnded");
}

static void a_result_is_json(void **state)
{
    static const char *const wrong[] = {"", "{", "1 2", "\"\\ud800\"", "NaN"};
    session_t *self = *state;

    steps_ready(self);
    steps_call(self, 11, "t");
    (void) deeds_take();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        steps_answer(self, TOOLS_ANSWER, steps_waiting(self), wrong[i]);
        DID("ANSWERED 3 error BadRequest");
    }
    assert_int_not_equal(steps_waiting(self), 0);
}

static void one_without_a_process_fails_at_once(void **state)
{
    session_t *self = *state;

    steps_run(self);
    steps_call(self, 11, "t");
    DID("kernel CALLED; audit tool_call unknown by gateway");
    HAS("PUT /hearth/sessions/ID/tools", "CALLED");
    steps_offer(self, "[{\"name\":\"t\"}]");
    fake_outside.now_ms += 10000;
    (void) deeds_take();
    steps_call(self, 12, "t");
    DID("kernel CALLED; audit tool_call no_provider by gateway");
    HAS("(provider `agent`) is not connected", "CALLED");
    steps_call(self, 13, "\\u001b[31m");
    DID("kernel CALLED; audit tool_call unknown by gateway");
    assert_int_equal(steps_waiting(self), 0);
}

static void one_whose_process_leaves_fails_after_a_grace(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_take(self, 5, 0);
    steps_call(self, 11, "t");
    fake_outside.now_ms += 20000; /* it works on it */
    host_tools_on_timer(self);
    assert_int_not_equal(steps_waiting(self), 0);
    steps_leave(self, true);
    (void) deeds_take();
    host_tools_on_timer(self);
    DID("kernel CALLED; audit tool_call provider_left by gateway");
    HAS("did not come back in time", "CALLED");
}

static void calls_of_a_provider_that_is_removed_fail_at_once(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_call(self, 11, "t");
    (void) deeds_take();
    control_take(self, (session_command_t *[]){steps_order(TOOLS_REMOVE, 4)});
    DID("audit tools removed by token=1; kernel TOOLS; kernel CALLED; "
        "audit tool_call provider_left by gateway; ANSWERED 4 ok");
    HAS("(provider `agent`) has removed its tools", "CALLED");
    assert_int_equal(steps_waiting(self), 0);
}

static void another_place_gets_what_was_left(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_take(self, 5, 0);
    steps_call(self, 11, "t");
    steps_take(self, 6, steps_waiting(self));
    steps_leave(self, false);
    DID("ANSWERED 5 ok; ANSWERED 6 ok; ANSWERED 2 ok");
    steps_take(self, 7, steps_waiting(self));
    DID("");
    steps_leave(self, true);
    steps_take(self, 8, steps_waiting(self));
    DID("ANSWERED 7 ok; ANSWERED 2 ok; ANSWERED 8 ok");
    HAS("\"name\":\"t\"", "calls");
}

static void a_call_has_its_time(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_take(self, 5, 0);
    steps_call(self, 11, "t");
    steps_take(self, 6, steps_waiting(self));
    (void) deeds_take();
    fake_outside.now_ms += 30000;
    host_tools_on_timer(self);
    DID("ANSWERED 6 ok");
    HAS("[]", "calls");
    fake_outside.now_ms += 29999;
    host_tools_on_timer(self);
    DID("");
    fake_outside.now_ms += 1;
    host_tools_on_timer(self);
    DID("LIMIT tool_seconds; kernel CALLED; "
        "audit tool_call timeout by gateway");
}

static void code_may_give_up(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_call(self, 11, "t");
    (void) deeds_take();
    fake_kernel_says(FRAME_UNCALL, fake_running(self), "{\"call\":12}");
    kernel_events_read(self);
    DID("");
    fake_kernel_says(FRAME_UNCALL, fake_running(self), "{\"call\":11}");
    kernel_events_read(self);
    DID("kernel CALLED; audit tool_call cancelled by gateway");
}

static void the_end_of_the_kernel_ends_its_calls(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_call(self, 11, "t");
    steps_call(self, 12, "t");
    steps_take(self, 5, steps_waiting(self) + 1);
    (void) deeds_take();
    host_tools_end_all(self);
    assert_int_equal(steps_waiting(self), 0);
    DID("kernel CALLED; audit tool_call kernel by gateway; "
        "kernel CALLED; audit tool_call kernel by gateway");
    HAS("\"reason\":\"kernel\"", "CALLED");
}

static void a_call_waits_while_its_process_may_come_back(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_call(self, 11, "t");
    (void) deeds_take();
    host_tools_on_timer(self);
    DID("");
    assert_int_not_equal(steps_waiting(self), 0);
}

static void a_call_is_kept_when_its_answer_is_not_journaled(void **state)
{
    session_t *self = *state;

    steps_ready(self);
    steps_call(self, 11, "t");
    (void) deeds_take();
    fake_outside.is_journal_lost = true;
    steps_answer(self, TOOLS_ANSWER, steps_waiting(self), "1");
    DID("ANSWERED 3 error JournalError");
    fake_outside.is_journal_lost = false;
    steps_answer(self, TOOLS_ANSWER, steps_waiting(self), "1");
    HAS("{\"result\":1}", "CALLED");
}

static void note(session_t *self, const char *type, const char *content)
{
    fault_t fault;

    assert_int_equal(publisher_note(self->publisher, type, 0, content, &fault),
                     0);
}

/* Has the kernel serve a comm message while the cell waits. */
static void serve_comm_beside(session_t *self)
{
    const request_t *comm;

    fake_client_sends(CHANNEL_SHELL, "comm", "comm_msg",
                      "{\"comm_id\":\"x\",\"data\":{}}");
    receive_on_shell(NULL, NULL, self);
    comm = request_queue_first(self->requests);
    assert_false(request_is_execute(comm));
    fake_kernel_says(FRAME_AWAITING, fake_running(self), "{}");
    fake_kernel_says(FRAME_REPLY, comm->number, "{}");
    kernel_events_read(self);
    assert_null(request_queue_first(self->requests));
}

static void the_next_gateway_goes_on(void **state)
{
    session_t *self = *state;
    fault_t fault;
    uint64_t id;

    note(self, "launch", "{\"profile\":\"python\"}");
    note(self, "ready", "{\"status\":\"ok\"}");
    steps_ready(self);
    steps_call(self, 11, "t");
    steps_call(self, 12, "t");
    id = steps_waiting(self);
    steps_answer(self, TOOLS_ANSWER, id, "\"first\"");
    serve_comm_beside(self);
    fake_session_adopt(self);
    assert_int_equal(recovery_read(self, &fault), 0);
    (void) deeds_take();
    assert_int_equal(tool_calls_first(self->tools.calls)->number, 12);
    assert_string_equal(tool_providers_of(self->tools.providers, "t"), "agent");
    fake_session_ready(self);
    (void) deeds_take();
    steps_greet(self, steps_welcome);
    assert_int_equal(fake_outside.delay_ms, 10000);
    DID("kernel TOOLS; kernel CALLED");
    HAS("{\"result\":\"first\"}", "CALLED");
    assert_int_equal(fake_outside.sent, 11);
    steps_take(self, 5, 0);
    DID("ANSWERED 5 ok");
    steps_answer(self, TOOLS_ANSWER, steps_waiting(self), "2");
    HAS("{\"result\":2}", "CALLED");
    steps_answer(self, TOOLS_ANSWER, id, "2");
    HAS("waits for no answer", "sentence");
}

static void a_recording_answers(void **state)
{
    session_t *self = *state;
    session_command_t *made = steps_order(TOOLS_RECORD, 9);

    made->tools.text =
        mem_text("{\"tools\":[{\"name\":\"t\"},{\"name\":\"u\"}],\"answers\":[{"
                 "\"name\":\"t\",\"arguments\":{\"q\":1},\"result\":[7]}]}");
    steps_offer(self, "[{\"name\":\"t\",\"description\":\"d\"}]");
    steps_run(self);
    control_take(self, &made);
    DID("kernel TOOLS; ANSWERED 9 ok");
    HAS("[{\"name\":\"u\",", "TOOLS");
    HAS("},{\"name\":\"t\",\"description\":\"d\",", "TOOLS");
    steps_call(self, 11, "t");
    DID("kernel CALLED; audit tool_call ok by recording");
    HAS("{\"result\":[7]}", "CALLED");
    steps_call(self, 12, "t");
    DID("kernel CALLED; audit tool_call unrecorded by gateway");
    made = steps_order(TOOLS_RECORD, 9);
    made->tools.text = mem_text("");
    control_take(self, &made);
    (void) deeds_take();
    steps_call(self, 13, "t");
    assert_int_not_equal(steps_waiting(self), 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, steps_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_goes_to_the_process_and_back),
        TEST(the_kernel_sees_how_far_a_call_has_come),
        TEST(the_tools_are_given_to_the_kernel),
        TEST(an_older_kernel_gets_no_such_frames),
        TEST(the_first_answer_counts),
        TEST(a_result_is_json),
        TEST(one_without_a_process_fails_at_once),
        TEST(one_whose_process_leaves_fails_after_a_grace),
        TEST(calls_of_a_provider_that_is_removed_fail_at_once),
        TEST(another_place_gets_what_was_left),
        TEST(a_call_has_its_time),
        TEST(code_may_give_up),
        TEST(the_end_of_the_kernel_ends_its_calls),
        TEST(a_call_waits_while_its_process_may_come_back),
        TEST(a_call_is_kept_when_its_answer_is_not_journaled),
        TEST(a_recording_answers),
        TEST(the_next_gateway_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
