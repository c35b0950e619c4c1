/* The state of host tools after a take-over, from the journal: offers, calls
 * that wait, calls that a cell may still make, and answers. */
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_providers.h"
#include "gateway/session/tools/tool_recovery.h"

#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void take_kind(session_t *self, journal_kind_t kind, const char *type,
                      uint64_t number, const char *content)
{
    journal_record_t record = {.kind = kind,
                               .seq = number,
                               .request = number,
                               .wall_us = (fake_outside.now_ms - 5000) * 1000,
                               .content = text_bytes(content)};

    snprintf(record.type, sizeof record.type, "%s", type);
    tool_recovery_take(self, &record);
}

static void take(session_t *self, const char *type, uint64_t seq,
                 const char *content)
{
    take_kind(self, JOURNAL_STATE, type, seq, content);
}

static void take_offer(session_t *self, const char *provider, const char *tool)
{
    cleanup_free char *content = mem_format(
        "{\"provider\":\"%s\",\"tools\":[{\"name\":\"%s\"}]}", provider, tool);

    take(self, "tools", 1, content);
}

static void take_call(session_t *self, uint64_t seq)
{
    take(self, "tool_call", seq,
         "{\"number\":11,\"request\":7,\"name\":\"t\",\"provider\":\"agent\","
         "\"arguments\":{\"q\":1}}");
}

static const char *provider_of(const session_t *self, const char *tool)
{
    return tool_providers_of(self->tools.providers, tool);
}

/* Returns how many more calls the cell may have. */
static int calls_left(session_t *self)
{
    tool_limit_t limit;
    fault_t fault;
    int count = 0;

    while (tool_calls_count(self->tools.calls, 0, &limit, &fault) == 0)
        count++;
    return count;
}

static void note_answer(void *arg, uint64_t number, bytes_t content)
{
    (void) arg;
    deeds_note("%d %.*s", (int) number, (int) content.size,
               (const char *) content.bytes);
}

static const char *answers(const session_t *self)
{
    (void) deeds_take();
    tool_calls_each_answer(self->tools.calls, note_answer, NULL);
    return deeds_take();
}

static void offers_are_known_again(void **state)
{
    session_t *self = *state;

    take_offer(self, "agent", "t");
    assert_string_equal(provider_of(self, "t"), "agent");
    assert_true(tool_providers_is_there(self->tools.providers, "agent",
                                        fake_outside.now_ms + 9999));
    take_offer(self, "agent", "u");
    assert_null(provider_of(self, "t"));
    assert_false(tool_providers_was_removed(self->tools.providers, "agent"));
    take(self, "tools", 2, "{\"provider\":\"agent\"}");
    assert_null(provider_of(self, "u"));
    assert_true(tool_providers_was_removed(self->tools.providers, "agent"));
    assert_int_equal(tool_providers_size(self->tools.providers), 0);
}

static void an_offer_that_is_not_permitted_any_more_is_dropped(void **state)
{
    static char other[] = "u";
    static char *allowed[] = {other, NULL};
    session_t *self = *state;

    fake_session_profile.tools = allowed;
    take_offer(self, "agent", "t");
    assert_null(provider_of(self, "t"));
    take_offer(self, "agent", "u");
    take_offer(self, "second", "u");
    assert_string_equal(provider_of(self, "u"), "agent");
    assert_false(tool_providers_has(self->tools.providers, "second"));
    /* What it offered before is not what it offers now. */
    take_offer(self, "agent", "t");
    assert_null(provider_of(self, "u"));
    assert_false(tool_providers_has(self->tools.providers, "agent"));
    take_offer(self, "agent", "u");
    take(self, "tools", 1, "{\"provider\":\"agent\",\"tools\":[{}]}");
    assert_null(provider_of(self, "u"));
}

static void what_is_no_such_record_is_passed_over(void **state)
{
    session_t *self = *state;

    take(self, "tools", 1, "{");
    take(self, "tools", 1, "{\"tools\":[{\"name\":\"t\"}]}");
    take(self, "tooth", 1, "{\"provider\":\"a\",\"tools\":[]}");
    take(self, "note", 1, "{\"provider\":\"a\",\"tools\":[]}");
    take_kind(self, JOURNAL_EVENT, "tools", 1,
              "{\"provider\":\"a\",\"tools\":[]}");
    assert_int_equal(tool_providers_size(self->tools.providers), 0);
    take(self, "tool_call", 1, "{\"number\":1,\"provider\":\"agent\"}");
    take(self, "tool_call", 1, "{\"number\":1,\"name\":\"t\"}");
    assert_null(tool_calls_first(self->tools.calls));
}

static void a_call_waits_for_the_rest_of_its_time(void **state)
{
    session_t *self = *state;
    const tool_call_t *call;

    take_call(self, 5);
    call = tool_calls_first(self->tools.calls);
    assert_int_equal(call->id, 5);
    assert_int_equal(call->number, 11);
    assert_int_equal(call->request, 7);
    assert_string_equal(call->tool, "t");
    assert_string_equal(call->provider, "agent");
    assert_memory_equal(call->arguments.data, "{\"q\":1}", 7);
    assert_int_equal(call->arguments.size, 7);
    assert_null(call->place);
    assert_int_equal(call->begun_ms, fake_outside.now_ms - 5000);
    assert_int_equal(call->until_ms, fake_outside.now_ms + 55000);
    take(self, "tool_call", 6,
         "{\"number\":12,\"request\":7,\"name\":\"t\",\"provider\":\"agent\","
         "\"argument_bytes\":7}");
    assert_int_equal(call->next->arguments.size, 0);
}

/* Adds request 7, which waits; lent. */
static request_t *add_request(session_t *self, const char *type)
{
    cleanup_free char *header = mem_format(
        "{\"msg_id\":\"m\",\"session\":\"c\",\"msg_type\":\"%s\"}", type);
    message_t *message =
        message_new(text_bytes(header), text_bytes("{}"), text_bytes("{}"),
                    text_bytes("{\"code\":\"1\"}"));
    request_t *request = request_new(7, CHANNEL_SHELL, &message);

    request->frame_type = request_frame_type(type);
    request_queue_push(self->requests, &request);
    return request_queue_find(self->requests, 7);
}

/* The journal has no record of a cell's start, but a call shows it. */
static void the_cell_of_a_call_has_started(void **state)
{
    session_t *self = *state;
    request_t *request = add_request(self, "execute_request");
    int64_t begun_us = (fake_outside.now_ms - 5000) * 1000;

    take_call(self, 5);
    assert_int_equal(request->progress, REQUEST_STARTED);
    assert_int_equal(request->begun_us, begun_us);
    request->begun_us = 1;
    take_call(self, 6);
    assert_int_equal(request->begun_us, 1);
}

static void a_result_is_kept_for_the_kernel(void **state)
{
    session_t *self = *state;

    take_call(self, 5);
    take(self, "tool_result", 6, "{\"call\":4,\"result\":1}");
    assert_non_null(tool_calls_first(self->tools.calls));
    take(self, "tool_result", 7, "{\"call\":5,\"result\":[1]}");
    assert_null(tool_calls_first(self->tools.calls));
    assert_string_equal(answers(self), "11 {\"result\":[1]}");
    take_call(self, 8);
    take(self, "tool_result", 9, "{\"call\":8,\"error\":{\"reason\":\"x\"}}");
    assert_string_equal(answers(self), "11 {\"result\":[1]}; "
                                       "11 {\"error\":{\"reason\":\"x\"}}");
    take_call(self, 10);
    take(self, "tool_result", 11, "{\"call\":10}");
    assert_null(tool_calls_first(self->tools.calls));
    assert_string_equal(answers(self), "11 {\"result\":[1]}; "
                                       "11 {\"error\":{\"reason\":\"x\"}}");
}

static void results_count_and_errors_do_not(void **state)
{
    session_t *self = *state;
    tool_limit_t limit;
    fault_t fault;

    take_call(self, 5);
    take(self, "tool_result", 6, "{\"call\":5,\"error\":{\"reason\":\"x\"}}");
    take_call(self, 7);
    take(self, "tool_result", 8, "{\"call\":7,\"result\":\"12345678\"}");
    assert_int_equal(
        tool_calls_count_result(self->tools.calls, 1015, &limit, &fault),
        -EDQUOT);
    assert_int_equal(
        tool_calls_count_result(self->tools.calls, 1014, &limit, &fault), 0);
}

static void the_cell_has_the_rest_of_its_calls(void **state)
{
    session_t *self = *state;

    take_call(self, 5);
    take(self, "tool_result", 6, "{\"call\":5,\"result\":1}");
    assert_int_equal(calls_left(self), 2);
}

/* Refused calls were not counted when they came, and are not now. */
static void refused_calls_do_not_count(void **state)
{
    session_t *self = *state;

    for (uint64_t seq = 5; seq < 11; seq += 2) {
        cleanup_free char *result = mem_format(
            "{\"call\":%d,\"error\":{\"reason\":\"unknown\"}}", (int) seq);

        take(self, "tool_call", seq,
             "{\"number\":11,\"request\":7,\"name\":\"t\",\"provider\":\"\","
             "\"argument_bytes\":7}");
        take(self, "tool_result", seq + 1, result);
    }
    assert_int_equal(calls_left(self), 3);
}

static void a_reply_ends_the_allowance_of_its_cell(void **state)
{
    session_t *self = *state;

    add_request(self, "execute_request");
    take_call(self, 5);
    take(self, "tool_result", 6, "{\"call\":5,\"result\":1}");
    take_kind(self, JOURNAL_REPLY, "execute_reply", 7, "{}");
    assert_string_equal(answers(self), "");
    assert_int_equal(calls_left(self), 3);
    take_kind(self, JOURNAL_REPLY, "execute_reply", 99, "{}");
    assert_int_equal(calls_left(self), 3);
}

static void a_comm_beside_the_cell_does_not(void **state)
{
    session_t *self = *state;

    add_request(self, "comm_msg");
    take_call(self, 5);
    take(self, "tool_result", 6, "{\"call\":5,\"result\":1}");
    take_kind(self, JOURNAL_REPLY, "comm_msg", 7, "{}");
    assert_string_equal(answers(self), "11 {\"result\":1}");
    assert_int_equal(calls_left(self), 2);
}

static void a_fresh_kernel_has_no_calls(void **state)
{
    static const char *const types[] = {"launch", "restart", "reviving"};
    session_t *self = *state;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        take_call(self, 5);
        take(self, "ready", 6, "{}");
        assert_non_null(tool_calls_first(self->tools.calls));
        take(self, types[i], 6, "{}");
        assert_null(tool_calls_first(self->tools.calls));
    }
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(offers_are_known_again),
        TEST(an_offer_that_is_not_permitted_any_more_is_dropped),
        TEST(what_is_no_such_record_is_passed_over),
        TEST(a_call_waits_for_the_rest_of_its_time),
        TEST(the_cell_of_a_call_has_started),
        TEST(a_result_is_kept_for_the_kernel),
        TEST(results_count_and_errors_do_not),
        TEST(the_cell_has_the_rest_of_its_calls),
        TEST(refused_calls_do_not_count),
        TEST(a_reply_ends_the_allowance_of_its_cell),
        TEST(a_comm_beside_the_cell_does_not),
        TEST(a_fresh_kernel_has_no_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
