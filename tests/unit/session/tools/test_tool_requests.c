/* Requests of processes that answer host tools: refused offers and the reasons,
 * the end of a wait, and the records in the journal. */
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_requests.h"

#include "gateway/session/tools/host_tools.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define DID(text)   assert_string_equal(deeds_take(), text)
#define SAYS(text)  assert_string_equal(deeds_content("sentence"), text)
#define CALLS(text) assert_non_null(strstr(deeds_content("calls"), text))

static char other_place[] = "y";

/* Has the session serve a request of the provider, at the place "x" if it names
 * none.
 */
static void serve(session_t *self, uint64_t token,
                  session_tools_request_t request, const char *provider)
{
    cleanup_session_command session_command_t *command =
        session_command_new(SESSION_TOOLS, token);

    request.who = mem_text("token=1");
    request.provider = mem_text(provider);
    request.place = mem_text(request.place ? request.place : "x");
    request.text = mem_text(request.text ? request.text : "");
    command->tools = request;
    tool_requests_take(self, command);
}

static char *as_text(const char *text)
{
    static char copy[4096];

    snprintf(copy, sizeof copy, "%s", text);
    return copy;
}

static void offer_by(session_t *self, const char *provider, const char *tools)
{
    serve(self, 1,
          (session_tools_request_t){.kind = TOOLS_REGISTER,
                                    .text = as_text(tools)},
          provider);
}

static void offer(session_t *self)
{
    offer_by(self, "agent", "[{\"name\":\"t\"}]");
    (void) deeds_take();
}

static void wait_for(session_t *self, uint64_t token, int64_t wait_ms)
{
    serve(self, token,
          (session_tools_request_t){.kind = TOOLS_TAKE, .wait_ms = wait_ms},
          "agent");
}

static void answer(session_t *self, session_tools_kind_t kind, uint64_t id,
                   const char *text)
{
    serve(self, 3,
          (session_tools_request_t){
              .kind = kind, .text = as_text(text), .number = id},
          "agent");
}

static void add_call_of(session_t *self, uint64_t id, const char *provider)
{
    tool_call_t *call = mem_new(sizeof *call);

    call->id = id;
    call->number = id + 100;
    call->tool = mem_text("t");
    call->provider = mem_text(provider);
    buffer_text(&call->arguments, "{}");
    call->begun_ms = fake_outside.now_ms;
    call->until_ms = fake_outside.now_ms + 60000;
    tool_calls_add(self->tools.calls, &call);
}

static void add_call(session_t *self, uint64_t id)
{
    add_call_of(self, id, "agent");
}

/* Returns the answer of TOOLS_LIST as it travels, lent. */
static const char *list(session_t *self)
{
    (void) deeds_take();
    serve(self, 8, (session_tools_request_t){.kind = TOOLS_LIST}, "");
    DID("ANSWERED 8 ok");
    return deeds_content("list");
}

static void an_offer_is_answered_with_all_tools(void **state)
{
    session_t *self = *state;
    uint64_t before = journal_last_seq(self->journal);

    offer_by(self, "agent", "[{\"name\":\"t\",\"description\":\"d\"}]");
    DID("audit tools registered by token=1; ANSWERED 1 ok");
    assert_string_equal(deeds_content("journal tools"),
                        "{\"provider\":\"agent\",\"tools\":[{\"name\":\"t\","
                        "\"description\":\"d\",\"inputSchema\":{\"type\":"
                        "\"object\"}}]}");
    assert_int_equal(journal_last_seq(self->journal), before + 1);
    offer_by(self, "other", "[{\"name\":\"u\"}]");
    assert_string_equal(
        list(self),
        "{\"tools\":[{\"name\":\"t\",\"description\":\"d\","
        "\"inputSchema\":{\"type\":\"object\"},\"provider\":\"agent\","
        "\"connected\":true,\"permitted\":true},{\"name\":\"u\","
        "\"inputSchema\":{\"type\":"
        "\"object\"},\"provider\":\"other\",\"connected\":true,\"permitted\":"
        "true}],"
        "\"waiting\":0,\"limits\":{\"tool_calls\":3,\"tool_waiting\":2,"
        "\"tool_argument_bytes\":1024,\"tool_result_bytes\":1024,"
        "\"tool_seconds\":60}}");
    fake_outside.now_ms += 10000;
    add_call(self, 5);
    add_call(self, 6);
    assert_non_null(strstr(list(self), "\"connected\":false"));
    assert_null(strstr(list(self), "\"connected\":true"));
    assert_non_null(strstr(list(self), "\"waiting\":2,"));
}

static void an_offer_that_cannot_be_is_refused(void **state)
{
    session_t *self = *state;

    offer(self);
    offer_by(self, "other", "{");
    DID("ANSWERED 1 error BadRequest");
    offer_by(self, "other", "[{\"name\":\"t\"}]");
    DID("ANSWERED 1 error ToolsConflict");
    SAYS("the tool `t` is offered by the provider `agent`; choose another "
         "name, or remove that provider");
    fake_session_profile.gives_tools = 0;
    offer_by(self, "other", "[]");
    DID("audit tools refused by token=1; ANSWERED 1 error NotPermitted");
    SAYS("host tools are off in the profile python "
         "(profile/python/tools/enabled)");
    assert_int_equal(tool_providers_size(self->tools.providers), 1);
}

static void serve_as_gateway(session_t *self, session_tools_request_t order,
                             const char *provider)
{
    order.is_gateways = true;
    serve(self, 0, order, provider);
}

/* A client with such a name would get the calls of the gateway's server. */
static void the_names_of_tool_servers_are_the_gateways(void **state)
{
    session_t *self = *state;

    offer_by(self, TOOL_SERVER_PREFIX "s", "[{\"name\":\"t\"}]");
    DID("ANSWERED 1 error NotPermitted");
    SAYS("providers whose name begins with `" TOOL_SERVER_PREFIX
         "` are servers of the gateway's own; choose another name");
    assert_null(tool_providers_of(self->tools.providers, "t"));
    serve_as_gateway(
        self,
        (session_tools_request_t){.kind = TOOLS_REGISTER,
                                  .text = as_text("[{\"name\":\"t\"}]")},
        TOOL_SERVER_PREFIX "s");
    DID("audit tools registered by token=1; ANSWERED 0 ok");
    assert_string_equal(tool_providers_of(self->tools.providers, "t"),
                        TOOL_SERVER_PREFIX "s");
}

static void what_is_not_journaled_is_not_done(void **state)
{
    session_t *self = *state;

    offer(self);
    fake_outside.is_journal_lost = true;
    offer_by(self, "agent", "[{\"name\":\"u\"}]");
    DID("ANSWERED 1 error JournalError");
    serve(self, 4, (session_tools_request_t){.kind = TOOLS_REMOVE}, "agent");
    DID("ANSWERED 4 error JournalError");
    assert_string_equal(tool_providers_of(self->tools.providers, "t"), "agent");
}

static void one_that_is_removed_waits_no_more(void **state)
{
    session_t *self = *state;

    offer(self);
    offer_by(self, "other", "[{\"name\":\"u\"}]");
    wait_for(self, 5, 30000);
    wait_for(self, 6, 30000);
    serve(self, 7, (session_tools_request_t){.kind = TOOLS_TAKE, .wait_ms = 1},
          "other");
    (void) deeds_take();
    serve(self, 4, (session_tools_request_t){.kind = TOOLS_REMOVE}, "agent");
    DID("audit tools removed by token=1; ANSWERED 5 ok; ANSWERED 6 ok; "
        "ANSWERED 4 ok");
    assert_string_equal(deeds_content("journal tools"),
                        "{\"provider\":\"agent\"}");
    assert_null(tool_providers_of(self->tools.providers, "t"));
    wait_for(self, 5, 30000);
    DID("ANSWERED 5 error ProviderRemoved");
    SAYS("the provider `agent` was removed from this session: its tools are "
         "called no more, unless it registers them again");
    /* The one that asks may have removed it itself. */
    serve(self, 4, (session_tools_request_t){.kind = TOOLS_REMOVE}, "agent");
    DID("ANSWERED 4 error ProviderRemoved");
    SAYS("the provider `agent` was removed from this session: its tools are "
         "called no more, unless it registers them again");
    serve(self, 4, (session_tools_request_t){.kind = TOOLS_REMOVE}, "never");
    DID("ANSWERED 4 error UnknownProvider");
    SAYS("no provider `never` has registered tools in this session; register "
         "them by PUT /hearth/sessions/ID/tools first");
}

static void a_wait_has_its_time(void **state)
{
    session_t *self = *state;

    offer(self);
    wait_for(self, 5, 0);
    DID("ANSWERED 5 ok");
    CALLS("[]");
    wait_for(self, 6, 7000);
    DID("");
    assert_int_equal(fake_outside.delay_ms, 7000);
    fake_outside.now_ms += 7000;
    host_tools_on_timer(self);
    DID("ANSWERED 6 ok");
}

/* A provider that asks again and again is there. */
static void one_that_asks_is_there(void **state)
{
    session_t *self = *state;

    offer(self);
    fake_outside.now_ms += 9000;
    wait_for(self, 5, 0);
    fake_outside.now_ms += 9000;
    assert_true(host_tools_has(self, "agent"));
}

static void a_call_that_waits_is_given_at_once(void **state)
{
    session_t *self = *state;

    offer(self);
    add_call(self, 5);
    wait_for(self, 6, 30000);
    DID("ANSWERED 6 ok");
    CALLS("{\"call\":5,\"name\":\"t\",\"arguments\":{},\"request\":0,"
          "\"seconds_left\":60}");
    wait_for(self, 7, 0);
    CALLS("{\"call\":5,");
    serve(self, 8, (session_tools_request_t){.kind = TOOLS_TAKE, .number = 5},
          "agent");
    CALLS("[]");
}

static void too_many_do_not_wait(void **state)
{
    session_t *self = *state;

    offer(self);
    for (uint64_t i = 0; i < TOOL_WAITS_MAX; i++)
        wait_for(self, 10 + i, 30000);
    DID("");
    wait_for(self, 5, 30000);
    DID("ANSWERED 5 error TooManyWaits");
    SAYS("256 requests wait for calls in this session already");
}

static void a_place_that_is_left_gives_its_calls_back(void **state)
{
    session_t *self = *state;
    session_tools_request_t elsewhere = {
        .kind = TOOLS_TAKE, .place = other_place, .wait_ms = 30000};

    offer(self);
    add_call(self, 5);
    wait_for(self, 6, 30000);
    (void) deeds_take();
    serve(self, 7, elsewhere, "agent");
    serve(self, 8, (session_tools_request_t){.kind = TOOLS_LEAVE}, "agent");
    DID("ANSWERED 8 ok");
    serve(self, 8,
          (session_tools_request_t){.kind = TOOLS_LEAVE, .is_over = true},
          "agent");
    DID("ANSWERED 7 ok; ANSWERED 8 ok");
    assert_string_equal(tool_calls_find(self->tools.calls, 5)->place, "y");
}

/* The other places of the provider wait on. */
static void a_place_that_is_left_waits_no_more(void **state)
{
    session_t *self = *state;
    session_tools_request_t elsewhere = {
        .kind = TOOLS_TAKE, .place = other_place, .wait_ms = 30000};

    offer(self);
    wait_for(self, 6, 30000);
    serve(self, 7, elsewhere, "agent");
    serve(self, 8, (session_tools_request_t){.kind = TOOLS_LEAVE}, "agent");
    DID("ANSWERED 6 ok; ANSWERED 8 ok");
}

static void an_answer_ends_its_call_once(void **state)
{
    session_t *self = *state;

    add_call(self, 5);
    answer(self, TOOLS_ANSWER, 5, "{\"a\":1}");
    DID("audit tool_call ok by token=1; ANSWERED 3 ok");
    answer(self, TOOLS_ANSWER, 5, "{\"a\":1}");
    DID("ANSWERED 3 error CallEnded");
    answer(self, TOOLS_FAIL, 5, "no rain");
    DID("ANSWERED 3 error CallEnded");
    add_call(self, 6);
    answer(self, TOOLS_FAIL, 6, "no rain");
    DID("audit tool_call failed by token=1; ANSWERED 3 ok");
}

static void answer_as_gateway(session_t *self, uint64_t id, const char *text)
{
    serve(self, 0,
          (session_tools_request_t){.kind = TOOLS_ANSWER,
                                    .number = id,
                                    .text = as_text(text),
                                    .is_gateways = true},
          "");
}

static void only_the_gateway_answers_its_calls(void **state)
{
    session_t *self = *state;

    add_call_of(self, 5, TOOL_PACKAGES);
    answer(self, TOOLS_ANSWER, 5, "{\"status\":\"ok\"}");
    DID("ANSWERED 3 error NotPermitted");
    SAYS("call 5 is not for this client: the gateway answers it by itself; "
         "answer only calls that you were given");
    answer(self, TOOLS_FAIL, 5, "no rain");
    DID("ANSWERED 3 error NotPermitted");
    answer_as_gateway(self, 5, "1");
    DID("audit tool_call ok by token=1; ANSWERED 0 ok");
    assert_null(tool_calls_find(self->tools.calls, 5));
}

/* It passes on the answer of its server. */
static void the_process_of_a_tool_server_answers(void **state)
{
    session_t *self = *state;

    add_call_of(self, 5, TOOL_SERVER_PREFIX "s");
    answer(self, TOOLS_ANSWER, 5, "1");
    DID("audit tool_call ok by token=1; ANSWERED 3 ok");
}

/* Calls that it was given may be done; others go to the next process. */
static void a_tool_server_that_ends_fails_what_it_was_given(void **state)
{
    session_t *self = *state;

    add_call_of(self, 5, TOOL_SERVER_PREFIX "s");
    tool_calls_note_given(self->tools.calls, TOOL_SERVER_PREFIX "s", "x", 0);
    add_call_of(self, 6, TOOL_SERVER_PREFIX "s");
    serve_as_gateway(self,
                     (session_tools_request_t){.kind = TOOLS_LEAVE,
                                               .text = as_text("it has ended")},
                     TOOL_SERVER_PREFIX "s");
    DID("audit tool_call provider_left by gateway");
    assert_non_null(strstr(deeds_content("journal tool_result"),
                           "{\"reason\":\"provider_left\",\"text\":"
                           "\"it has ended\"}"));
    assert_null(tool_calls_find(self->tools.calls, 5));
    assert_non_null(tool_calls_find(self->tools.calls, 6));
}

static void a_result_that_is_no_json_is_refused(void **state)
{
    session_t *self = *state;

    add_call(self, 5);
    answer(self, TOOLS_ANSWER, 5, "{");
    DID("ANSWERED 3 error BadRequest");
    assert_ptr_equal(strstr(deeds_content("sentence"), "result: "),
                     deeds_content("sentence"));
    assert_non_null(tool_calls_find(self->tools.calls, 5));
}

static void too_big_a_result_fails_the_call(void **state)
{
    session_t *self = *state;
    char big[1026] = {0};

    memset(big, '1', sizeof big - 1);
    answer(self, TOOLS_ANSWER, 9, big);
    DID("ANSWERED 3 error CallEnded");
    add_call(self, 5);
    answer(self, TOOLS_ANSWER, 5, big);
    DID("LIMIT tool_result_bytes; audit limit refused by kernel; "
        "audit tool_call limit by token=1; ANSWERED 3 error BadRequest");
    SAYS("the limit tool_result_bytes is reached: what the results of one "
         "cell's calls take in bytes is at most 1024");
    assert_null(tool_calls_find(self->tools.calls, 5));
}

static void an_answer_that_is_not_journaled_can_be_given_again(void **state)
{
    session_t *self = *state;

    cleanup_free char *most = mem_format("\"%01022d\"", 0);

    add_call(self, 5);
    fake_outside.is_journal_lost = true;
    answer(self, TOOLS_ANSWER, 6, most);
    answer(self, TOOLS_FAIL, 5, "no");
    answer(self, TOOLS_ANSWER, 5, most);
    DID("ANSWERED 3 error CallEnded; ANSWERED 3 error JournalError; "
        "ANSWERED 3 error JournalError");
    SAYS("no space left");
    assert_non_null(tool_calls_find(self->tools.calls, 5));
    /* It is as long as the limit permits, and was not counted. */
    fake_outside.is_journal_lost = false;
    answer(self, TOOLS_ANSWER, 5, most);
    DID("audit tool_call ok by token=1; ANSWERED 3 ok");
    add_call(self, 7);
    answer(self, TOOLS_ANSWER, 7, "1");
    SAYS("the limit tool_result_bytes is reached: what the results of one "
         "cell's calls take in bytes is at most 1024");
}

/* The gateway does not give it again: its work is done. Its size is bounded, so
 * it counts in no limit. */
static void what_the_gateway_answered_is_kept_for_the_journal(void **state)
{
    session_t *self = *state;
    char big[2000] = {0};

    memset(big, '1', sizeof big - 1);
    add_call(self, 5);
    fake_outside.is_journal_lost = true;
    answer_as_gateway(self, 5, big);
    (void) deeds_take();
    assert_int_equal(fake_outside.delay_ms, 500);
    host_tools_on_timer(self);
    DID("");
    assert_int_equal(fake_outside.delay_ms, 500);
    assert_non_null(tool_calls_find(self->tools.calls, 5));
    fake_outside.is_journal_lost = false;
    host_tools_on_timer(self);
    DID("audit tool_call ok by gateway");
    assert_non_null(strstr(deeds_content("journal tool_result"), big));
    assert_null(tool_calls_find(self->tools.calls, 5));
}

static void record(session_t *self, const char *text)
{
    serve(
        self, 9,
        (session_tools_request_t){.kind = TOOLS_RECORD, .text = as_text(text)},
        "");
}

static void a_recording_is_taken_and_ended(void **state)
{
    session_t *self = *state;

    record(self, "{");
    DID("ANSWERED 9 error BadRequest");
    assert_null(self->tools.recording);
    record(self, "{\"tools\":[{\"name\":\"t\"}],\"answers\":[]}");
    DID("ANSWERED 9 ok");
    assert_non_null(self->tools.recording);
    record(self, "");
    DID("ANSWERED 9 ok");
    assert_null(self->tools.recording);
}

static void the_end_of_the_session_ends_all_waits(void **state)
{
    session_t *self = *state;

    offer(self);
    wait_for(self, 5, 30000);
    wait_for(self, 6, 30000);
    tool_requests_end(self, "session s1 is gone: idle");
    DID("ANSWERED 5 error SessionGone; ANSWERED 6 error SessionGone");
    SAYS("session s1 is gone: idle");
    tool_requests_end(self, "session s1 is gone: idle");
    DID("");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_offer_is_answered_with_all_tools),
        TEST(an_offer_that_cannot_be_is_refused),
        TEST(the_names_of_tool_servers_are_the_gateways),
        TEST(what_is_not_journaled_is_not_done),
        TEST(one_that_is_removed_waits_no_more),
        TEST(a_wait_has_its_time),
        TEST(one_that_asks_is_there),
        TEST(a_call_that_waits_is_given_at_once),
        TEST(too_many_do_not_wait),
        TEST(a_place_that_is_left_gives_its_calls_back),
        TEST(a_place_that_is_left_waits_no_more),
        TEST(an_answer_ends_its_call_once),
        TEST(only_the_gateway_answers_its_calls),
        TEST(the_process_of_a_tool_server_answers),
        TEST(a_tool_server_that_ends_fails_what_it_was_given),
        TEST(a_result_that_is_no_json_is_refused),
        TEST(too_big_a_result_fails_the_call),
        TEST(an_answer_that_is_not_journaled_can_be_given_again),
        TEST(what_the_gateway_answered_is_kept_for_the_journal),
        TEST(a_recording_is_taken_and_ended),
        TEST(the_end_of_the_session_ends_all_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
