/* Calls from the kernel's code: their records in the journal, refusals with
 * their sentences, and answers of a recording. */
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_events.h"

#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/tools/host_tools.h"
#include "gateway/session/tools/tool_recording.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define IS(text, of)  assert_string_equal(deeds_content(of), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static int begin(void **state)
{
    static const char welcome[] = "{\"protocol\":1,\"last\":0,\"tools\":true}";
    jspan_t value;
    fault_t fault;

    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    assert_int_equal(jspan_check(welcome, sizeof welcome - 1, &value, &fault),
                     0);
    host_tools_greet(*state, value);
    (void) deeds_take();
    return 0;
}

static void offer(session_t *self)
{
    cleanup_tool_offer tool_offer_t *made = NULL;
    fault_t fault;

    assert_int_equal(
        tool_offer_read(text_bytes("[{\"name\":\"t\"}]"), &made, &fault), 0);
    tool_providers_register(self->tools.providers, "agent", &made,
                            fake_outside.now_ms);
}

/* Has the kernel say something of host tools in request 7. */
static int say(session_t *self,
               int (*take)(session_t *, const frame_t *,
                           const kernel_permissions_content_t *, fault_t *),
               uint64_t seq, const char *content)
{
    frame_t frame = {.request = 7, .seq = seq};
    kernel_permissions_content_t said = {0};
    fault_t fault;

    assert_int_equal(
        jspan_check(content, strlen(content), &said.object, &fault), 0);
    return take(self, &frame, &said, &fault);
}

static int call(session_t *self, uint64_t seq, const char *name)
{
    cleanup_free char *content =
        mem_format("{\"call\":%d,\"name\":\"%s\",\"arguments\":{\"q\":1}}",
                   (int) seq + 10, name);

    return say(self, tool_events_on_call, seq, content);
}

static int uncall(session_t *self, uint64_t seq, uint64_t number)
{
    cleanup_free char *content = mem_format("{\"call\":%d}", (int) number);

    return say(self, tool_events_on_uncall, seq, content);
}

static const tool_call_t *waiting(const session_t *self)
{
    return tool_calls_first(self->tools.calls);
}

static void a_call_is_journaled_and_waits(void **state)
{
    session_t *self = *state;
    const tool_call_t *first;

    offer(self);
    assert_int_equal(call(self, 3, "t"), 0);
    DID("");
    first = waiting(self);
    assert_int_equal(first->id, journal_last_seq(self->journal));
    assert_int_equal(journal_last_kernel_seq(self->journal), 3);
    IS("{\"number\":13,\"request\":7,\"name\":\"t\",\"provider\":\"agent\","
       "\"arguments\":{\"q\":1}}",
       "journal tool_call");
    assert_int_equal(first->number, 13);
    assert_int_equal(first->request, 7);
    assert_string_equal(first->tool, "t");
    assert_string_equal(first->provider, "agent");
    assert_memory_equal(first->arguments.data, "{\"q\":1}", 7);
    assert_int_equal(first->until_ms, fake_outside.now_ms + 60000);
    /* The provider's grace ends first. */
    assert_int_equal(fake_outside.delay_ms, 10000);
}

static void a_call_goes_to_a_place_that_waits(void **state)
{
    session_t *self = *state;
    tool_wait_t wait = {.token = 5,
                        .provider = mem_text("agent"),
                        .place = mem_text("x"),
                        .until_ms = fake_outside.now_ms + 30000};
    fault_t fault;

    offer(self);
    assert_int_equal(tool_providers_wait(self->tools.providers, &wait, &fault),
                     0);
    assert_int_equal(call(self, 3, "t"), 0);
    DID("ANSWERED 5 ok");
    HAS("\"name\":\"t\",\"arguments\":{\"q\":1},\"request\":7", "calls");
    assert_string_equal(waiting(self)->place, "x");
}

static void one_that_cannot_be_made_fails_at_once(void **state)
{
    session_t *self = *state;

    assert_int_equal(call(self, 1, "t"), 0);
    DID("kernel CALLED; audit tool_call unknown by gateway");
    HAS("{\"error\":{\"reason\":\"unknown\",\"text\":\"no process has "
        "registered a tool of this name; the agent's process does it by PUT "
        "/hearth/sessions/ID/tools\"}}",
        "CALLED");
    assert_int_equal(fake_outside.sent, 11);
    assert_null(waiting(self));
    offer(self);
    fake_outside.now_ms += 10000;
    assert_int_equal(call(self, 2, "t"), 0);
    DID("kernel CALLED; audit tool_call no_provider by gateway");
    HAS("\"the process that answers it (provider `agent`) is not connected; "
        "start it, so that it waits at GET /hearth/sessions/ID/tools/calls\"",
        "CALLED");
    fake_session_profile.gives_tools = 0;
    assert_int_equal(call(self, 3, "t"), 0);
    DID("kernel CALLED; audit tool_call off by gateway");
    HAS("\"host tools are off in the profile python "
        "(profile/python/tools/enabled)\"",
        "CALLED");
}

/* A refused one has no arguments, wherever it is written. */
static void a_refused_one_takes_no_room(void **state)
{
    session_t *self = *state;
    tool_limit_t limit;
    fault_t fault;

    for (uint64_t i = 1; i < 10; i++)
        assert_int_equal(call(self, i, "t"), 0);
    IS("{\"number\":19,\"request\":7,\"name\":\"t\",\"provider\":\"\","
       "\"argument_bytes\":7}",
       "journal tool_call");
    for (int i = 0; i < 3; i++)
        assert_int_equal(tool_calls_count(self->tools.calls, 0, &limit, &fault),
                         0);
}

static void past_a_limit_it_fails(void **state)
{
    session_t *self = *state;

    offer(self);
    assert_int_equal(call(self, 1, "t"), 0);
    assert_int_equal(call(self, 2, "t"), 0);
    assert_int_equal(call(self, 3, "t"), 0);
    DID("LIMIT tool_waiting; audit limit refused by kernel; kernel CALLED; "
        "audit tool_call limit by gateway");
    HAS("the limit tool_waiting is reached: the number of calls that wait at a "
        "time is at most 2",
        "CALLED");
    assert_int_equal(waiting(self)->number, 11);
    assert_null(waiting(self)->next->next);
}

static void what_is_no_name_is_not_repeated(void **state)
{
    session_t *self = *state;

    assert_int_equal(call(self, 1, "\\u001b[31m"), 0);
    DID("kernel CALLED; audit tool_call unknown by gateway");
    HAS("\"tool\":\"?\"", "tool_call");
    HAS("\"name\":\"?\"", "journal tool_call");
    HAS("\"name\":\"?\"", "journal tool_result");
}

static void a_name_is_not_cut_at_a_nul(void **state)
{
    static const char *const names[] = {"t\\u0000x", "fetch\\u0000"};
    session_t *self = *state;

    offer(self);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(call(self, i + 1, names[i]), 0);
        DID("kernel CALLED; audit tool_call unknown by gateway");
        HAS("\"name\":\"?\"", "journal tool_call");
    }
}

/* The kernel says it until it is journaled. */
static void a_call_that_is_not_journaled_does_not_count(void **state)
{
    session_t *self = *state;
    tool_limit_t limit;
    fault_t fault;

    offer(self);
    fake_outside.is_journal_lost = true;
    for (int i = 0; i < 5; i++)
        assert_int_equal(call(self, 1, "t"), -ENOSPC);
    assert_int_equal(call(self, 1, "u"), -ENOSPC); /* not known */
    /* All of the cell's allowance is left: 3 calls, 1024 bytes. */
    assert_int_equal(tool_calls_count(self->tools.calls, 1024, &limit, &fault),
                     0);
    assert_int_equal(tool_calls_count(self->tools.calls, 0, &limit, &fault), 0);
    assert_int_equal(tool_calls_count(self->tools.calls, 0, &limit, &fault), 0);
    assert_int_equal(tool_calls_count(self->tools.calls, 0, &limit, &fault),
                     -EDQUOT);
}

static void what_is_not_journaled_is_not_done(void **state)
{
    session_t *self = *state;

    offer(self);
    fake_outside.is_journal_lost = true;
    assert_int_equal(call(self, 1, "t"), -ENOSPC);
    DID("");
    assert_null(waiting(self));
    fake_outside.is_journal_lost = false;
    assert_int_equal(call(self, 2, "t"), 0);
    fake_outside.is_journal_lost = true;
    assert_int_equal(uncall(self, 3, 12), -ENOSPC);
    assert_non_null(waiting(self));
}

static void code_gives_up_one_call(void **state)
{
    session_t *self = *state;

    offer(self);
    assert_int_equal(call(self, 1, "t"), 0);
    assert_int_equal(call(self, 2, "t"), 0);
    assert_int_equal(uncall(self, 3, 99), 0);
    DID("");
    assert_int_equal(uncall(self, 4, 11), 0);
    DID("kernel CALLED; audit tool_call cancelled by gateway");
    HAS("the code does not wait for it any more", "CALLED");
    assert_int_equal(waiting(self)->number, 12);
    assert_int_equal(journal_last_kernel_seq(self->journal), 4);
}

static void play(session_t *self, const char *answers)
{
    cleanup_free char *text =
        mem_format("{\"tools\":[{\"name\":\"t\"}],\"answers\":[%s]}", answers);
    fault_t fault;

    assert_int_equal(
        tool_recording_read(text_bytes(text), &self->tools.recording, &fault),
        0);
}

static void a_recording_answers_without_a_process(void **state)
{
    session_t *self = *state;

    play(self, "{\"name\":\"t\",\"arguments\":{\"q\":1},\"result\":[7]},"
               "{\"name\":\"t\",\"arguments\":{\"q\":1},\"error\":{\"reason\":"
               "\"failed\",\"text\":\"no rain\"}},"
               "{\"name\":\"t\",\"arguments\":{\"q\":1},\"error\":{}}");
    assert_int_equal(call(self, 1, "t"), 0);
    DID("kernel CALLED; audit tool_call ok by recording");
    HAS("{\"result\":[7]}", "CALLED");
    assert_int_equal(call(self, 2, "t"), 0);
    DID("kernel CALLED; audit tool_call failed by recording");
    HAS("{\"error\":{\"reason\":\"failed\",\"text\":\"no rain\"}}", "CALLED");
    assert_int_equal(call(self, 3, "t"), 0);
    HAS("{\"error\":{\"reason\":\"failed\",\"text\":\"it failed\"}}", "CALLED");
    assert_null(waiting(self));
}

/* Also where a process offers the tool that is not there. */
static void what_was_not_recorded_fails(void **state)
{
    session_t *self = *state;

    play(self, "{\"name\":\"t\",\"arguments\":{\"q\":2},\"result\":[7]}");
    offer(self);
    fake_outside.now_ms += 10000;
    assert_int_equal(call(self, 1, "t"), 0);
    DID("kernel CALLED; audit tool_call unrecorded by gateway");
    HAS("the recording has no further call of this tool with these arguments",
        "CALLED");
}

/* Needs no tools, no process and no permission for tools. A recording does not
 * answer it: it is done again. */
static void the_gateway_itself_is_asked(void **state)
{
    session_t *self = *state;
    const tool_call_t *first;

    play(self, "{\"name\":\"hearth:packages\",\"arguments\":{\"q\":1},"
               "\"result\":7}");
    fake_session_profile.gives_tools = 0;
    assert_int_equal(call(self, 1, TOOL_PACKAGES), 0);
    DID("CALL hearth:packages");
    first = waiting(self);
    assert_string_equal(first->tool, TOOL_PACKAGES);
    assert_string_equal(first->provider, TOOL_PACKAGES);
    assert_true(first->until_ms == INT64_MAX);
    HAS("\"name\":\"hearth:packages\",\"provider\":\"hearth:packages\","
        "\"arguments\":{\"q\":1}}",
        "journal tool_call");
    /* It is to get the same again. */
    assert_int_equal(first->recorded.size, 1);
    assert_memory_equal(first->recorded.data, "7", 1);
    /* However long it takes. */
    fake_outside.now_ms += 86400000;
    host_tools_on_timer(self);
    DID("");
    assert_ptr_equal(waiting(self), first);
    assert_int_equal(call(self, 3, TOOL_FETCH), 0);
    DID("CALL hearth:fetch");
    assert_int_equal(waiting(self)->next->recorded.size, 0);
    HAS("\"provider\":\"hearth:fetch\"", "journal tool_call");
    assert_int_equal(call(self, 2, "hearth:other"), 0);
    HAS("\"name\":\"?\"", "journal tool_result");
}

/* A revived session has what it once got. */
static void a_recording_answers_for_what_is_there(void **state)
{
    session_t *self = *state;

    play(self, "{\"name\":\"hearth:packages\",\"arguments\":{\"q\":1},"
               "\"result\":7,\"there\":true}");
    assert_int_equal(call(self, 1, TOOL_PACKAGES), 0);
    DID("kernel CALLED; audit tool_call ok by recording");
    assert_int_equal(call(self, 2, TOOL_PACKAGES), 0);
    DID("CALL hearth:packages");
}

/* They are calls of the cell as others are. */
static void what_the_gateway_is_asked_has_limits(void **state)
{
    session_t *self = *state;

    for (uint64_t i = 1; i < 4; i++)
        assert_int_equal(call(self, i, TOOL_PACKAGES), 0);
    assert_non_null(strstr(deeds_take(), "LIMIT tool_waiting"));
    HAS("the limit tool_waiting is reached", "CALLED");
}

/* A cell that has printed more than it may, and calls all the same. */
static void print_too_much(session_t *self)
{
    self->spec->limits.cell_messages = 1;
    fake_kernel_says(FRAME_DISPLAY, fake_running(self),
                     "{\"data\":{},\"metadata\":{}}");
    fake_kernel_says(FRAME_DISPLAY, fake_running(self),
                     "{\"data\":{},\"metadata\":{}}");
    kernel_events_read(self);
    assert_true(output_limit_is_over(self->limits.output));
    (void) deeds_take();
}

static void says_call(session_t *self, const char *content)
{
    fake_kernel_says(FRAME_CALL, fake_running(self), content);
    kernel_events_read(self);
}

static void past_the_output_limit_code_gives_up_a_call(void **state)
{
    session_t *self = *state;

    offer(self);
    fake_session_run(self);
    says_call(self, "{\"call\":1,\"name\":\"t\",\"arguments\":{}}");
    assert_non_null(waiting(self));
    print_too_much(self);
    fake_kernel_says(FRAME_UNCALL, fake_running(self), "{\"call\":1}");
    kernel_events_read(self);
    DID("kernel CALLED; audit tool_call cancelled by gateway");
    IS("{}", "journal tool_uncall");
    assert_null(waiting(self));
}

static void past_the_output_limit_a_call_is_refused(void **state)
{
    session_t *self = *state;

    offer(self);
    fake_session_run(self);
    print_too_much(self);
    says_call(self, "{\"call\":1,\"name\":\"t\",\"arguments\":{}}");
    DID("kernel CALLED; audit tool_call limit by gateway");
    HAS("{\"error\":{\"reason\":\"limit\",\"text\":\"the cell gave more output "
        "than is permitted and is interrupted: it can call nothing any "
        "more\"}}",
        "CALLED");
    says_call(self, "{\"call\":2,\"name\":\"hearth:fetch\",\"arguments\":{}}");
    DID("kernel CALLED; audit tool_call limit by gateway");
    assert_int_equal(fake_outside.sent, 2);
    assert_null(waiting(self));
    fake_session_reply(self);
    says_call(self, "{\"call\":3,\"name\":\"t\",\"arguments\":{}}");
    assert_int_equal(waiting(self)->number, 3);
}

static void a_call_is_no_output(void **state)
{
    session_t *self = *state;

    offer(self);
    self->spec->limits.cell_output = 4;
    self->spec->limits.cell_messages = 2;
    fake_session_run(self);
    says_call(self, "{\"call\":1,\"name\":\"t\",\"arguments\":{\"q\":1}}");
    says_call(self, "{\"call\":2,\"name\":\"t\",\"arguments\":{\"q\":1}}");
    DID("");
    assert_int_equal(waiting(self)->next->number, 2);
    assert_int_equal(output_limit_cell_bytes(self->limits.output), 0);
    assert_int_equal(self->clocks.output_us, 0);
    /* But a message, so that they have an end. */
    says_call(self, "{\"call\":3,\"name\":\"no\",\"arguments\":{}}");
    assert_true(output_limit_is_over(self->limits.output));
    HAS("cell_messages", "stream");
    assert_true(interrupt_is_on(self->interrupt));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_is_journaled_and_waits),
        TEST(a_call_goes_to_a_place_that_waits),
        TEST(one_that_cannot_be_made_fails_at_once),
        TEST(a_refused_one_takes_no_room),
        TEST(past_a_limit_it_fails),
        TEST(what_is_no_name_is_not_repeated),
        TEST(a_name_is_not_cut_at_a_nul),
        TEST(what_is_not_journaled_is_not_done),
        TEST(a_call_that_is_not_journaled_does_not_count),
        TEST(code_gives_up_one_call),
        TEST(a_recording_answers_without_a_process),
        TEST(what_was_not_recorded_fails),
        TEST(the_gateway_itself_is_asked),
        TEST(a_recording_answers_for_what_is_there),
        TEST(what_the_gateway_is_asked_has_limits),
        TEST(past_the_output_limit_code_gives_up_a_call),
        TEST(past_the_output_limit_a_call_is_refused),
        TEST(a_call_is_no_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
