/* Host tools of a session: from the kernel's call to the answer of a process,
 * calls without a process, and the state after a take-over. */
#include "gateway/session/tools/host_tools.h"

#include "gateway/session/actor/control.h"
#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/actor/recovery.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/tools/tool_calls.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static const char welcome[] = "{\"protocol\":1,\"last\":0,\"tools\":true}";

static void greet(session_t *self, const char *content)
{
    jspan_t value;
    fault_t fault;

    assert_int_equal(jspan_check(content, strlen(content), &value, &fault), 0);
    host_tools_greet(self, value);
}

static int begin(void **state)
{
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    greet(*state, welcome);
    (void) deeds_take();
    return 0;
}

static session_command_t *order(session_tools_kind_t kind, uint64_t token)
{
    session_command_t *made = session_command_new(SESSION_TOOLS, token);

    made->tools.kind = kind;
    made->tools.who = mem_text("token=1");
    made->tools.provider = mem_text("agent");
    made->tools.place = mem_text("x");
    return made;
}

static void offer(session_t *self, const char *tools)
{
    session_command_t *made = order(TOOLS_REGISTER, 1);

    made->tools.text = mem_text(tools);
    control_take(self, &made);
}

static void take(session_t *self, uint64_t token, uint64_t after)
{
    session_command_t *made = order(TOOLS_TAKE, token);

    made->tools.number = after;
    made->tools.wait_ms = 30000;
    control_take(self, &made);
}

static void leave(session_t *self, bool is_over)
{
    session_command_t *made = order(TOOLS_LEAVE, 2);

    made->tools.is_over = is_over;
    control_take(self, &made);
}

static void answer(session_t *self, session_tools_kind_t kind, uint64_t call,
                   const char *text)
{
    session_command_t *made = order(kind, 3);

    made->tools.number = call;
    made->tools.text = mem_text(text);
    control_take(self, &made);
}

static void run(session_t *self)
{
    fake_client_sends(CHANNEL_SHELL, "cell", "execute_request",
                      "{\"code\":\"1\"}");
    receive_on_shell(NULL, NULL, self);
    (void) deeds_take();
}

static void call(session_t *self, int number, const char *tool)
{
    cleanup_free char *content = mem_format(
        "{\"call\":%d,\"name\":\"%s\",\"arguments\":{\"q\":1}}", number, tool);

    fake_kernel_says(FRAME_CALL, fake_running(self), content);
    kernel_events_read(self);
}

/* Returns the number of the call that waits first. */
static uint64_t waiting(const session_t *self)
{
    const tool_call_t *first = tool_calls_first(self->tools.calls);

    return first ? first->id : 0;
}

static void ready(session_t *self)
{
    offer(self, "[{\"name\":\"t\"}]");
    run(self);
}

static void a_call_goes_to_the_process_and_back(void **state)
{
    session_t *self = *state;

    ready(self);
    take(self, 5, 0);
    DID("");
    call(self, 11, "t");
    DID("ANSWERED 5 ok");
    HAS("\"name\":\"t\",\"arguments\":{\"q\":1}", "calls");
    answer(self, TOOLS_ANSWER, waiting(self), "[1]");
    DID("kernel CALLED; audit tool_call ok by token=1; ANSWERED 3 ok");
    assert_int_equal(fake_outside.sent, 11);
    HAS("{\"result\":[1]}", "CALLED");
    assert_int_equal(waiting(self), 0);
    take(self, 6, 0);
    DID("");
}

/* A kernel that does not ask for it, as an older one, would take it for the
 * answer. */
static void the_kernel_sees_how_far_a_call_has_come(void **state)
{
    session_t *self = *state;
    uint64_t id;

    ready(self);
    call(self, 11, "t");
    (void) deeds_take();
    answer(self, TOOLS_PROGRESS, waiting(self), "{\"bytes\":7}");
    DID("");
    fake_kernel_says(FRAME_CALL, fake_running(self),
                     "{\"call\":12,\"name\":\"t\",\"arguments\":{},"
                     "\"progress\":true}");
    kernel_events_read(self);
    (void) deeds_take();
    id = tool_calls_first(self->tools.calls)->next->id;
    answer(self, TOOLS_PROGRESS, id, "{\"bytes\":7}");
    DID("kernel CALLED");
    assert_int_equal(fake_outside.sent, 12);
    HAS("{\"progress\":{\"bytes\":7}}", "CALLED");
    answer(self, TOOLS_ANSWER, id, "1");
    (void) deeds_take();
    answer(self, TOOLS_PROGRESS, id, "{\"bytes\":8}");
    DID("");
}

static void the_tools_are_given_to_the_kernel(void **state)
{
    session_t *self = *state;

    offer(self, "[{\"name\":\"t\",\"description\":\"d\"}]");
    DID("audit tools registered by token=1; kernel TOOLS; ANSWERED 1 ok");
    HAS("{\"tools\":[{\"name\":\"t\",\"description\":\"d\"", "TOOLS");
    HAS("\"seconds\":60}", "TOOLS");
    greet(self, welcome);
    DID("kernel TOOLS");
    control_take(self, (session_command_t *[]){order(TOOLS_REMOVE, 4)});
    DID("audit tools removed by token=1; kernel TOOLS; ANSWERED 4 ok");
    HAS("{\"tools\":[],", "TOOLS");
}

/* It would close the link. */
static void an_older_kernel_gets_no_such_frames(void **state)
{
    session_t *self = *state;

    greet(self, "{\"protocol\":1,\"last\":0}");
    offer(self, "[{\"name\":\"t\"}]");
    DID("audit tools registered by token=1; ANSWERED 1 ok");
}

static void the_first_answer_counts(void **state)
{
    session_t *self = *state;
    uint64_t id;

    ready(self);
    call(self, 11, "t");
    id = waiting(self);
    answer(self, TOOLS_FAIL, id, "no \"rain\"");
    HAS("{\"error\":{\"reason\":\"failed\",\"text\":\"no \\\"rain\\\"\"}}",
        "CALLED");
    (void) deeds_take();
    answer(self, TOOLS_ANSWER, id, "1");
    DID("ANSWERED 3 error CallEnded");
}

static void a_result_is_json(void **state)
{
    static const char *const wrong[] = {"", "{", "1 2", "\"\\ud800\"", "NaN"};
    session_t *self = *state;

    ready(self);
    call(self, 11, "t");
    (void) deeds_take();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        answer(self, TOOLS_ANSWER, waiting(self), wrong[i]);
        DID("ANSWERED 3 error BadRequest");
    }
    assert_int_not_equal(waiting(self), 0);
}

static void one_without_a_process_fails_at_once(void **state)
{
    session_t *self = *state;

    run(self);
    call(self, 11, "t");
    DID("kernel CALLED; audit tool_call unknown by gateway");
    HAS("PUT /hearth/sessions/ID/tools", "CALLED");
    offer(self, "[{\"name\":\"t\"}]");
    fake_outside.now_ms += 10000;
    (void) deeds_take();
    call(self, 12, "t");
    DID("kernel CALLED; audit tool_call no_provider by gateway");
    HAS("(provider `agent`) is not connected", "CALLED");
    call(self, 13, "\\u001b[31m");
    DID("kernel CALLED; audit tool_call unknown by gateway");
    assert_int_equal(waiting(self), 0);
}

static void one_whose_process_leaves_fails_after_a_grace(void **state)
{
    session_t *self = *state;

    ready(self);
    take(self, 5, 0);
    call(self, 11, "t");
    fake_outside.now_ms += 20000; /* it works on it */
    host_tools_on_timer(self);
    assert_int_not_equal(waiting(self), 0);
    leave(self, true);
    (void) deeds_take();
    host_tools_on_timer(self);
    DID("kernel CALLED; audit tool_call provider_left by gateway");
    HAS("did not come back in time", "CALLED");
}

static void calls_of_a_provider_that_is_removed_fail_at_once(void **state)
{
    session_t *self = *state;

    ready(self);
    call(self, 11, "t");
    (void) deeds_take();
    control_take(self, (session_command_t *[]){order(TOOLS_REMOVE, 4)});
    DID("audit tools removed by token=1; kernel TOOLS; kernel CALLED; "
        "audit tool_call provider_left by gateway; ANSWERED 4 ok");
    HAS("(provider `agent`) has removed its tools", "CALLED");
    assert_int_equal(waiting(self), 0);
}

static void another_place_gets_what_was_left(void **state)
{
    session_t *self = *state;

    ready(self);
    take(self, 5, 0);
    call(self, 11, "t");
    take(self, 6, waiting(self));
    leave(self, false);
    DID("ANSWERED 5 ok; ANSWERED 6 ok; ANSWERED 2 ok");
    take(self, 7, waiting(self));
    DID("");
    leave(self, true);
    take(self, 8, waiting(self));
    DID("ANSWERED 7 ok; ANSWERED 2 ok; ANSWERED 8 ok");
    HAS("\"name\":\"t\"", "calls");
}

static void a_call_has_its_time(void **state)
{
    session_t *self = *state;

    ready(self);
    take(self, 5, 0);
    call(self, 11, "t");
    take(self, 6, waiting(self));
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

static void limits_are_errors(void **state)
{
    session_t *self = *state;
    char big[1100];

    ready(self);
    call(self, 11, "t");
    call(self, 12, "t");
    (void) deeds_take();
    call(self, 13, "t");
    DID("LIMIT tool_waiting; audit limit refused by kernel; kernel CALLED; "
        "audit tool_call limit by gateway");
    HAS("{\"count\":1,\"limit\":\"tool_waiting\",\"max\":2}", "limit");
    memset(big, '1', sizeof big);
    big[sizeof big - 1] = '\0';
    answer(self, TOOLS_ANSWER, waiting(self), big);
    DID("LIMIT tool_result_bytes; audit limit refused by kernel; "
        "kernel CALLED; audit tool_call limit by token=1; "
        "ANSWERED 3 error BadRequest");
    call(self, 14, "t");
    DID("");
    answer(self, TOOLS_ANSWER, waiting(self), "1");
    (void) deeds_take();
    call(self, 15, "t");
    DID("LIMIT tool_calls; audit limit refused by kernel; kernel CALLED; "
        "audit tool_call limit by gateway");
}

/* Returns true if the audit log has a record of a refused call. */
static bool notes_refused_call(session_t *self, int number)
{
    (void) deeds_take();
    call(self, number, "t");
    return strstr(deeds_take(), "audit tool_call limit by gateway");
}

static void refused_calls_do_not_fill_the_audit_log(void **state)
{
    session_t *self = *state;
    int noted = 0;

    ready(self);
    call(self, 1, "t");
    call(self, 2, "t");
    for (int i = 0; i < 50; i++)
        noted += notes_refused_call(self, 10 + i);
    assert_int_equal(noted, 20);
    fake_outside.now_ms += 500;
    assert_true(notes_refused_call(self, 90));
    HAS("\"count\":31,", "tool_call");
    HAS("\"count\":31,", "limit");
}

static void code_may_give_up(void **state)
{
    session_t *self = *state;

    ready(self);
    call(self, 11, "t");
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

    ready(self);
    call(self, 11, "t");
    call(self, 12, "t");
    take(self, 5, waiting(self) + 1);
    (void) deeds_take();
    host_tools_end_all(self);
    assert_int_equal(waiting(self), 0);
    DID("kernel CALLED; audit tool_call kernel by gateway; "
        "kernel CALLED; audit tool_call kernel by gateway");
    HAS("\"reason\":\"kernel\"", "CALLED");
}

static void a_call_waits_while_its_process_may_come_back(void **state)
{
    session_t *self = *state;

    ready(self);
    call(self, 11, "t");
    (void) deeds_take();
    host_tools_on_timer(self);
    DID("");
    assert_int_not_equal(waiting(self), 0);
}

static void the_profile_decides(void **state)
{
    static char exact[] = "t", beginning[] = "web.*";
    static char *allowed[] = {exact, beginning, NULL};
    session_t *self = *state;

    fake_session_profile.tools = allowed;
    offer(self, "[{\"name\":\"t\"},{\"name\":\"web.get\"}]");
    DID("audit tools registered by token=1; kernel TOOLS; ANSWERED 1 ok");
    offer(self, "[{\"name\":\"tt\"}]");
    DID("audit tools refused by token=1; ANSWERED 1 error NotPermitted");
    HAS("profile/python/tools/allow", "sentence");
    fake_session_profile.gives_tools = 0;
    offer(self, "[]");
    DID("audit tools refused by token=1; ANSWERED 1 error NotPermitted");
    HAS("profile/python/tools/enabled", "sentence");
    run(self);
    call(self, 11, "t");
    DID("kernel CALLED; audit tool_call off by gateway");
}

static void a_session_calls_only_what_it_was_given(void **state)
{
    session_t *self = *state;

    self->spec->asked.tools = mem_text("t, web.*");
    offer(self, "[{\"name\":\"t\"},{\"name\":\"rm\"}]");
    HAS("\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}", "TOOLS");
    HAS("\"type\":\"object\"},\"permitted\":false}", "TOOLS");
    run(self);
    take(self, 5, 0);
    call(self, 11, "rm");
    DID("kernel CALLED; audit tool_call not_permitted by gateway");
    HAS("\"reason\":\"not_permitted\"", "CALLED");
    HAS("it may call: t, web.*", "CALLED");
    call(self, 12, "unheard-of");
    DID("kernel CALLED; audit tool_call not_permitted by gateway");
    call(self, 13, "t");
    DID("ANSWERED 5 ok");
}

static void a_session_may_have_no_tools(void **state)
{
    session_t *self = *state;

    self->spec->asked.tools = mem_text("");
    ready(self);
    call(self, 11, "t");
    DID("kernel CALLED; audit tool_call not_permitted by gateway");
    HAS("may call no host tool", "CALLED");
}

/* Checks a session of the next gateway, whose profile permits less. */
static void a_narrower_profile_counts_for_each_call(void **state)
{
    static char other[] = "other", web[] = "web.*";
    static char *allowed[] = {other, web, NULL};
    session_t *self = *state;

    self->spec->asked.tools = mem_text("t");
    ready(self);
    fake_session_profile.tools = allowed;
    call(self, 11, "t");
    DID("kernel CALLED; audit tool_call not_permitted by gateway");
}

static void a_long_list_is_cut_between_names(void **state)
{
    static const char one[] = "tool-of-twenty-bytes, ";
    session_t *self = *state;
    cleanup_buffer buffer_t list = BUFFER_EMPTY;

    for (int i = 0; i < 100; i++)
        buffer_text(&list, one);
    buffer_text(&list, "last");
    buffer_append(&list, "", 1);
    self->spec->asked.tools = mem_text((const char *) list.data);
    ready(self);
    call(self, 11, "t");
    HAS("tool-of-twenty-bytes, and more\"", "CALLED");
    assert_true(strlen(deeds_content("CALLED")) < 1200);
}

static void a_call_is_kept_when_its_answer_is_not_journaled(void **state)
{
    session_t *self = *state;

    ready(self);
    call(self, 11, "t");
    (void) deeds_take();
    fake_outside.is_journal_lost = true;
    answer(self, TOOLS_ANSWER, waiting(self), "1");
    DID("ANSWERED 3 error JournalError");
    fake_outside.is_journal_lost = false;
    answer(self, TOOLS_ANSWER, waiting(self), "1");
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
    assert_false(comm->is_execute);
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
    ready(self);
    call(self, 11, "t");
    call(self, 12, "t");
    id = waiting(self);
    answer(self, TOOLS_ANSWER, id, "\"first\"");
    serve_comm_beside(self);
    fake_session_adopt(self);
    assert_int_equal(recovery_read(self, &fault), 0);
    (void) deeds_take();
    assert_int_equal(tool_calls_first(self->tools.calls)->number, 12);
    assert_string_equal(tool_providers_of(self->tools.providers, "t"), "agent");
    fake_session_ready(self);
    (void) deeds_take();
    greet(self, welcome);
    assert_int_equal(fake_outside.delay_ms, 10000);
    DID("kernel TOOLS; kernel CALLED");
    HAS("{\"result\":\"first\"}", "CALLED");
    assert_int_equal(fake_outside.sent, 11);
    take(self, 5, 0);
    DID("ANSWERED 5 ok");
    answer(self, TOOLS_ANSWER, waiting(self), "2");
    HAS("{\"result\":2}", "CALLED");
    answer(self, TOOLS_ANSWER, id, "2");
    HAS("waits for no answer", "sentence");
}

static void a_recording_answers(void **state)
{
    session_t *self = *state;
    session_command_t *made = order(TOOLS_RECORD, 9);

    made->tools.text =
        mem_text("{\"tools\":[{\"name\":\"t\"},{\"name\":\"u\"}],\"answers\":[{"
                 "\"name\":\"t\",\"arguments\":{\"q\":1},\"result\":[7]}]}");
    offer(self, "[{\"name\":\"t\",\"description\":\"d\"}]");
    run(self);
    control_take(self, &made);
    DID("kernel TOOLS; ANSWERED 9 ok");
    HAS("[{\"name\":\"u\",", "TOOLS");
    HAS("},{\"name\":\"t\",\"description\":\"d\",", "TOOLS");
    call(self, 11, "t");
    DID("kernel CALLED; audit tool_call ok by recording");
    HAS("{\"result\":[7]}", "CALLED");
    call(self, 12, "t");
    DID("kernel CALLED; audit tool_call unrecorded by gateway");
    made = order(TOOLS_RECORD, 9);
    made->tools.text = mem_text("");
    control_take(self, &made);
    (void) deeds_take();
    call(self, 13, "t");
    assert_int_not_equal(waiting(self), 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

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
        TEST(limits_are_errors),
        TEST(refused_calls_do_not_fill_the_audit_log),
        TEST(code_may_give_up),
        TEST(the_end_of_the_kernel_ends_its_calls),
        TEST(a_call_waits_while_its_process_may_come_back),
        TEST(the_profile_decides),
        TEST(a_session_calls_only_what_it_was_given),
        TEST(a_session_may_have_no_tools),
        TEST(a_narrower_profile_counts_for_each_call),
        TEST(a_long_list_is_cut_between_names),
        TEST(a_call_is_kept_when_its_answer_is_not_journaled),
        TEST(a_recording_answers),
        TEST(the_next_gateway_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
