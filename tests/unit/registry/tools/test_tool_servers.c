/* The tool servers of a profile, whose processes are records: when one is
 * started, which sessions have its tools, where a call goes, and what becomes
 * of calls when a process ends. */
#include "gateway/registry/tools/tool_servers.h"

#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"
#include "tests/lib/tool_server_steps.h"

#include <string.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define SAID(text)     assert_string_equal(fake_said(), text)
#define ANSWERED(text) assert_string_equal(fake_answered(), text)

#define DOWN "the server s: its process has ended; it is started again in "

/* --- Processes --- */

static void a_server_is_started_once(void **state)
{
    (void) state;
    servers_are_described("[{\"name\":\"s\",\"state\":\"starting\",\"tools\":0,"
                          "\"starts\":0,\"calls\":0,\"refused\":0}]");
    DID("");
    servers_look();
    DID("start s of python3");
    servers_pass(1000);
    DID("");
    servers_are_described("[{\"name\":\"s\",\"state\":\"starting\",\"tools\":0,"
                          "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void servers_are_described_in_the_order_of_the_file(void **state)
{
    static profile_t other;

    servers_make(*state, "{\"mcpServers\":{\"a\":{\"command\":\"x\"},"
                         "\"b\":{\"command\":\"y\"}}}");
    servers_look();
    DID("start b of python3; start a of python3");
    servers_are_described("[{\"name\":\"a\",\"state\":\"starting\",\"tools\":0,"
                          "\"starts\":1,\"calls\":0,\"refused\":0},"
                          "{\"name\":\"b\",\"state\":\"starting\",\"tools\":0,"
                          "\"starts\":1,\"calls\":0,\"refused\":0}]");
    json_auto_t *none = tool_servers_describe(servers, &other);
    assert_int_equal(json_array_size(none), 0);
    servers_ask(
        "{\"n\":1,\"profile\":\"python3\",\"name\":\"a\",\"order\":\"down\","
        "\"text\":\"no\"}");
    servers_are_described(
        "[{\"name\":\"a\",\"state\":\"failed\",\"tools\":0,"
        "\"starts\":1,\"calls\":0,\"refused\":0,\"fault\":\"no\"},"
        "{\"name\":\"b\",\"state\":\"starting\",\"tools\":0,"
        "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void a_file_that_is_wrong_names_no_server(void **state)
{
    servers_make(*state, "{\"mcpServers\":{\"s\":{\"command\":1}}}");
    servers_look();
    DID("");
    servers_are_described("[]");
}

static void a_profile_without_tools_has_no_server(void **state)
{
    fake_profile.gives_tools = 0;
    servers_make(*state, "{\"mcpServers\":{\"s\":{\"command\":\"x\"}}}");
    servers_look();
    DID("");
    servers_are_described("[]");
}

static void they_end_with_the_gateway(void **state)
{
    servers_make(*state, "{\"mcpServers\":{\"a\":{\"command\":\"x\"},"
                         "\"b\":{\"command\":\"y\"}}}");
    servers_look();
    servers_machine.ended = 101;
    servers_look();
    servers_forget();
    tool_servers_destroy(&servers);
    DID("kill 102 15; await 102");
}

static void one_that_ends_is_started_again_after_a_pause(void **state)
{
    (void) state;
    servers_look();
    servers_forget();
    servers_machine.ended = 101;
    servers_look();
    DID("");
    servers_are_described(
        "[{\"name\":\"s\",\"state\":\"failed\",\"tools\":0,\"starts\":"
        "1,\"calls\":0,\"refused\":0,\"fault\":\"" DOWN "1 s\"}]");
    servers_pass(999);
    DID("");
    servers_pass(1);
    DID("start s of python3");
}

/* Ends the process and waits until it runs again. Returns the pause in ms. */
static int64_t pause_after_end(void)
{
    int64_t began_ms;

    servers_machine.ended = servers_machine.pid;
    servers_look();
    began_ms = rig_outside.now_ms;
    servers_forget();
    while (!*deeds_take())
        servers_pass(500);
    return rig_outside.now_ms - began_ms;
}

static void the_pause_grows(void **state)
{
    static const int64_t pauses_ms[] = {1000,  2000,  4000,  8000,
                                        16000, 32000, 60000, 60000};

    (void) state;
    servers_look();
    for (size_t i = 0; i < sizeof pauses_ms / sizeof *pauses_ms; i++)
        assert_int_equal(pause_after_end(), pauses_ms[i]);
    rig_outside.now_ms += 60000;
    assert_int_equal(pause_after_end(), 60000);
    rig_outside.now_ms += 60001;
    assert_int_equal(pause_after_end(), 1000);
}

static void one_that_cannot_be_started_is_tried_again(void **state)
{
    (void) state;
    servers_machine.cannot_start = true;
    servers_look();
    DID("start s of python3");
    servers_are_described(
        "[{\"name\":\"s\",\"state\":\"failed\",\"tools\":0,\"starts\":"
        "1,\"calls\":0,\"refused\":0,\"fault\":\"the server s: there "
        "is no such program; it is started again in 1 s\"}]");
    servers_pass(999);
    DID("");
    servers_machine.cannot_start = false;
    servers_pass(1);
    DID("start s of python3");
    tool_servers_destroy(&servers);
    DID("kill 101 15; await 101");
}

/* --- Tools --- */

static void its_tools_are_given_to_the_sessions_of_its_profile(void **state)
{
    static profile_t other;
    registry_parts_t *parts = *state;
    session_entry_t *first = servers_add(parts, "one", FAKE_TAKEN);

    servers_add(parts, "gone", FAKE_GONE);
    servers_add(parts, "two", FAKE_TAKEN)->profile = &other;
    tool_servers_greet(servers, first);
    SAID("");
    servers_look();
    servers_offer(1, SERVERS_OFFER);
    ANSWERED("1 {\"status\":\"ok\"}");
    SAID("one TOOLS register hearth.cfg/s " SERVERS_OFFER);
    servers_offer(2, SERVERS_OFFER);
    SAID("");
    tool_servers_greet(servers, first);
    SAID("one TOOLS register hearth.cfg/s " SERVERS_OFFER);
    servers_offer(3, "[]");
    SAID("one TOOLS register hearth.cfg/s []");
    servers_are_described("[{\"name\":\"s\",\"state\":\"ready\",\"tools\":0,"
                          "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void only_tools_that_the_profile_permits_are_given(void **state)
{
    static char name[] = "t";
    static char *permitted[] = {name, NULL};
    registry_parts_t *parts = *state;

    servers_add(parts, "one", FAKE_TAKEN);
    fake_profile.tools = permitted;
    servers_look();
    servers_offer(1, "[{\"name\":\"u\"},{\"name\":\"t\"}]");
    SAID("one TOOLS register hearth.cfg/s " SERVERS_OFFER);
    servers_are_described("[{\"name\":\"s\",\"state\":\"ready\",\"tools\":1,"
                          "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void an_offer_that_is_wrong_is_refused(void **state)
{
    registry_parts_t *parts = *state;

    servers_add(parts, "one", FAKE_TAKEN);
    servers_look();
    servers_offer(1, "[{\"name\":7}]");
    assert_string_equal(rig_answers(), "BadRequest");
    SAID("");
    servers_are_described("[{\"name\":\"s\",\"state\":\"starting\",\"tools\":0,"
                          "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void a_server_says_that_it_is_down_and_up(void **state)
{
    (void) state;
    servers_be_ready();
    servers_ask(
        "{\"n\":2,\"profile\":\"python3\",\"name\":\"s\",\"order\":\"down\","
        "\"text\":\"it hangs\"}");
    ANSWERED("2 {\"status\":\"ok\"}");
    servers_are_described(
        "[{\"name\":\"s\",\"state\":\"failed\",\"tools\":1,\"starts\":"
        "1,\"calls\":0,\"refused\":0,\"fault\":\"it hangs\"}]");
    servers_offer(3, SERVERS_OFFER);
    servers_are_described(
        "[{\"name\":\"s\",\"state\":\"ready\",\"tools\":1,\"starts\":"
        "1,\"calls\":0,\"refused\":0}]");
}

/* --- Calls --- */

static void a_call_goes_to_the_process_that_waits(void **state)
{
    registry_parts_t *parts = *state;
    const session_entry_t *entry = servers_add(parts, "one", FAKE_TAKEN);

    servers_be_ready();
    servers_wait_for_calls(5, 1000);
    ANSWERED("");
    servers_call_s(entry, 7);
    ANSWERED("5 {\"calls\":[{\"call\":\"TEXT\",\"session\":\"one\"}],"
             "\"status\":\"ok\"}");
    servers_call_s(entry, 8);
    servers_call_s(entry, 9);
    ANSWERED("");
    servers_wait_for_calls(6, 1000);
    ANSWERED("6 {\"calls\":[{\"call\":\"TEXT\",\"session\":\"one\"},"
             "{\"call\":\"TEXT\",\"session\":\"one\"}],\"status\":\"ok\"}");
    SAID("");
    servers_are_described(
        "[{\"name\":\"s\",\"state\":\"ready\",\"tools\":1,\"starts\":"
        "1,\"calls\":3,\"refused\":0}]");
}

static void a_process_waits_for_its_time(void **state)
{
    (void) state;
    servers_be_ready();
    servers_wait_for_calls(5, 1000);
    servers_pass(999);
    ANSWERED("");
    servers_pass(1);
    ANSWERED("5 {\"calls\":[],\"status\":\"ok\"}");
    servers_wait_for_calls(6, 0);
    ANSWERED("6 {\"calls\":[],\"status\":\"ok\"}");
    servers_wait_for_calls(7, 1);
    ANSWERED("");
    servers_wait_for_calls(8, 1000);
    ANSWERED("7 {\"calls\":[],\"status\":\"ok\"}");
}

static void a_call_goes_to_its_own_server(void **state)
{
    static profile_t other;
    registry_parts_t *parts = *state;
    session_entry_t *entry = servers_add(parts, "one", FAKE_TAKEN);

    servers_be_ready();
    servers_call(entry, 7, "hearth.cfg/x");
    SAID("one TOOLS fail 7 the configuration of the gateway does not name its "
         "server any more (profile/<name>/tools/servers)");
    entry->profile = &other;
    servers_call_s(entry, 8);
    SAID("one TOOLS fail 8 the configuration of the gateway does not name its "
         "server any more (profile/<name>/tools/servers)");
}

static void a_call_fails_while_no_process_runs(void **state)
{
    registry_parts_t *parts = *state;
    const session_entry_t *entry = servers_add(parts, "one", FAKE_TAKEN);

    servers_be_ready();
    servers_machine.ended = 101;
    servers_look();
    servers_forget();
    servers_call_s(entry, 7);
    SAID("one TOOLS fail 7 " DOWN "1 s");
    servers_are_described(
        "[{\"name\":\"s\",\"state\":\"failed\",\"tools\":1,\"starts\":"
        "1,\"calls\":0,\"refused\":1,\"fault\":\"" DOWN "1 s\"}]");
}

static void calls_fail_when_the_process_ends(void **state)
{
    static profile_t other;
    registry_parts_t *parts = *state;
    const session_entry_t *entry = servers_add(parts, "one", FAKE_TAKEN);

    servers_add(parts, "gone", FAKE_GONE);
    servers_add(parts, "two", FAKE_TAKEN)->profile = &other;
    servers_be_ready();
    servers_call_s(entry, 7);
    servers_wait_for_calls(4, 1000);
    servers_forget();
    servers_wait_for_calls(5, 1000);
    servers_machine.ended = 101;
    servers_look();
    SAID("one TOOLS leave hearth.cfg/s " DOWN "1 s");
    /* No request waits, and no call is kept. */
    servers_pass(1000);
    ANSWERED("");
    servers_wait_for_calls(6, 0);
    ANSWERED("6 {\"calls\":[],\"status\":\"ok\"}");
}

/* A call that was not given yet is not given to the next process. */
static void calls_that_wait_are_forgotten_with_the_process(void **state)
{
    registry_parts_t *parts = *state;

    servers_be_ready();
    servers_call_s(servers_add(parts, "one", FAKE_TAKEN), 7);
    servers_machine.ended = 101;
    servers_look();
    servers_pass(1000);
    servers_wait_for_calls(6, 0);
    ANSWERED("6 {\"calls\":[],\"status\":\"ok\"}");
}

static void too_many_calls_do_not_wait(void **state)
{
    registry_parts_t *parts = *state;
    const session_entry_t *entry = servers_add(parts, "one", FAKE_TAKEN);

    servers_be_ready();
    for (uint64_t i = 1; i <= 1024; i++)
        servers_call_s(entry, i);
    SAID("");
    servers_call_s(entry, 1025);
    SAID("one TOOLS fail 1025 more calls wait for its server than the gateway "
         "keeps");
}

/* --- Requests that are wrong --- */

static void other_requests_are_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"name\":\"s\",\"order\":\"take\"}",
        "{\"profile\":\"python3\",\"order\":\"take\"}",
        "{\"profile\":\"x\",\"name\":\"s\",\"order\":\"take\"}",
        "{\"profile\":\"python3\",\"name\":\"x\",\"order\":\"take\"}",
        "{\"profile\":\"python3\",\"name\":\"s\"}",
        "{\"profile\":\"python3\",\"name\":\"s\",\"text\":\"\",\"order\":7}",
        "{\"profile\":\"python3\",\"name\":\"s\",\"order\":\"offer\"}",
        "{\"profile\":\"python3\",\"name\":\"s\",\"order\":\"down\"}",
        "{\"profile\":\"python3\",\"name\":\"s\",\"text\":\"\"}",
    };

    (void) state;
    servers_look();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        servers_ask(wrong[i]);
        assert_string_equal(rig_answers(), "BadRequest");
    }
    servers_ask("{\"profile\":\"python3\",\"name\":\"s\",\"order\":\"x\","
                "\"text\":\"\"}");
    assert_string_equal(rig_answers(), "BadRequest");
    servers_ask(wrong[0]);
    assert_non_null(
        strstr(fake_answered(), "the gateway has started no such tool server"));
    servers_ask(wrong[4]);
    assert_non_null(strstr(fake_answered(), "`order` must be take, or offer"));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, servers_begin, servers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_server_is_started_once),
        TEST(servers_are_described_in_the_order_of_the_file),
        TEST(a_file_that_is_wrong_names_no_server),
        TEST(a_profile_without_tools_has_no_server),
        TEST(they_end_with_the_gateway),
        TEST(one_that_ends_is_started_again_after_a_pause),
        TEST(the_pause_grows),
        TEST(one_that_cannot_be_started_is_tried_again),
        TEST(its_tools_are_given_to_the_sessions_of_its_profile),
        TEST(only_tools_that_the_profile_permits_are_given),
        TEST(an_offer_that_is_wrong_is_refused),
        TEST(a_server_says_that_it_is_down_and_up),
        TEST(a_call_goes_to_the_process_that_waits),
        TEST(a_process_waits_for_its_time),
        TEST(a_call_goes_to_its_own_server),
        TEST(a_call_fails_while_no_process_runs),
        TEST(calls_fail_when_the_process_ends),
        TEST(calls_that_wait_are_forgotten_with_the_process),
        TEST(too_many_calls_do_not_wait),
        TEST(other_requests_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
