/* The tool servers of a profile, whose processes are records: when one is
 * started, which sessions have its tools, where a call goes, and what becomes
 * of calls when a process ends. */
#include "gateway/registry/tools/tool_servers.h"

#include "gateway/registry/tools/tool_server_process.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define SAID(text)     assert_string_equal(fake_said(), text)
#define ANSWERED(text) assert_string_equal(fake_answered(), text)

#define OFFER "[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]"
#define DOWN  "the server s: its process has ended; it is started again in "

/* What the machine does. */
static struct {
    bool cannot_start;
    pid_t pid;   /* of the process that was started last */
    pid_t ended; /* that waitpid finds; 0: none */
} machine;

static tool_servers_t *servers;

int __wrap_tool_server_process_start(const tool_server_t *server,
                                     const char *profile,
                                     const char *runtime_dir, pid_t *ret_pid,
                                     fault_t *fault);
void __wrap_tool_server_process_await(pid_t pid);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __wrap_kill(pid_t pid, int signal);

int __wrap_tool_server_process_start(const tool_server_t *server,
                                     const char *profile,
                                     const char *runtime_dir, pid_t *ret_pid,
                                     fault_t *fault)
{
    assert_string_equal(runtime_dir, fake_options.runtime_dir);
    deeds_note("start %s of %s", server->name, profile);
    if (machine.cannot_start)
        return fault_set(fault, ENOENT, "there is no such program");
    *ret_pid = ++machine.pid;
    return 0;
}

void __wrap_tool_server_process_await(pid_t pid)
{
    deeds_note("await %d", (int) pid);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    assert_null(status);
    assert_int_equal(options, WNOHANG);
    if (machine.ended != pid)
        return 0;
    machine.ended = 0;
    return pid;
}

int __wrap_kill(pid_t pid, int signal)
{
    deeds_note("kill %d %d", (int) pid, signal);
    return 0;
}

/* --- Steps --- */

static char *write_file(const char *text)
{
    char *path = mem_format("%s/mcp.json", rig_outside.folder);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

/* Makes the servers of a file. */
static void make(const registry_parts_t *parts, const char *text)
{
    free(fake_profile.tool_servers);
    fake_profile.tool_servers = write_file(text);
    tool_servers_destroy(&servers);
    servers = tool_servers_new(parts);
}

static int begin(void **state)
{
    if (rig_begin(state) < 0)
        return -1;
    machine.cannot_start = false;
    machine.pid = 100;
    machine.ended = 0;
    fake_profile.gives_tools = 1;
    make(*state, "{\"mcpServers\":{\"s\":{\"command\":\"/bin/true\"}}}");
    return 0;
}

static int end(void **state)
{
    tool_servers_destroy(&servers);
    assert_null(servers);
    free(take_ptr(fake_profile.tool_servers));
    return rig_end(state);
}

static void look(void)
{
    tool_servers_look(servers, rig_outside.now_ms);
}

static void pass(int64_t ms)
{
    rig_outside.now_ms += ms;
    look();
}

/* Has a server's process ask for something. */
static void ask(const char *content)
{
    cleanup_message message_t *request = rig_request("tool_server", content);
    json_auto_t *object = json_loads(content, 0, NULL);

    assert_non_null(object);
    tool_servers_serve(servers, object, &request);
    assert_null(request);
}

static void offer(int n, const char *tools)
{
    json_auto_t *object =
        json_pack("{s:i,s:s,s:s,s:s,s:s}", "n", n, "profile", "python3", "name",
                  "s", "order", "offer", "text", tools);
    cleanup_free char *text = json_dumps(object, 0);

    ask(text);
}

static void wait_for_calls(int n, int64_t wait_ms)
{
    cleanup_free char *text =
        mem_format("{\"n\":%d,\"profile\":\"python3\",\"name\":\"s\",\"order\":"
                   "\"take\",\"wait_ms\":%d}",
                   n, (int) wait_ms);

    ask(text);
}

static void call(const session_entry_t *entry, uint64_t id,
                 const char *provider)
{
    session_call_t made = {
        .provider = mem_text(provider), .text = mem_text("TEXT"), .id = id};

    tool_servers_call(servers, entry, &made);
    free(made.provider);
    free(made.text);
}

static void call_s(const session_entry_t *entry, uint64_t id)
{
    call(entry, id, "hearth.cfg/s");
}

static session_entry_t *add(const registry_parts_t *parts, const char *id,
                            fake_kind_t kind)
{
    session_entry_t *entry = fake_add(parts->table, id, kind, 0);

    assert_non_null(entry);
    return entry;
}

static void is_described(const char *expected)
{
    json_auto_t *list = tool_servers_describe(servers, &fake_profile);
    cleanup_free char *text = json_dumps(list, JSON_COMPACT);

    assert_string_equal(text, expected);
}

/* Forgets what was done so far. */
static void forget(void)
{
    (void) deeds_take();
    (void) fake_said();
    (void) fake_answered();
}

/* Starts the server, whose tools are known then. */
static void be_ready(void)
{
    look();
    offer(1, OFFER);
    forget();
}

/* --- Processes --- */

static void a_server_is_started_once(void **state)
{
    (void) state;
    is_described("[{\"name\":\"s\",\"state\":\"starting\",\"tools\":0,"
                 "\"starts\":0,\"calls\":0,\"refused\":0}]");
    DID("");
    look();
    DID("start s of python3");
    pass(1000);
    DID("");
    is_described("[{\"name\":\"s\",\"state\":\"starting\",\"tools\":0,"
                 "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void servers_are_described_in_the_order_of_the_file(void **state)
{
    static profile_t other;

    make(*state, "{\"mcpServers\":{\"a\":{\"command\":\"x\"},"
                 "\"b\":{\"command\":\"y\"}}}");
    look();
    DID("start b of python3; start a of python3");
    is_described("[{\"name\":\"a\",\"state\":\"starting\",\"tools\":0,"
                 "\"starts\":1,\"calls\":0,\"refused\":0},"
                 "{\"name\":\"b\",\"state\":\"starting\",\"tools\":0,"
                 "\"starts\":1,\"calls\":0,\"refused\":0}]");
    json_auto_t *none = tool_servers_describe(servers, &other);
    assert_int_equal(json_array_size(none), 0);
    ask("{\"n\":1,\"profile\":\"python3\",\"name\":\"a\",\"order\":\"down\","
        "\"text\":\"no\"}");
    is_described("[{\"name\":\"a\",\"state\":\"failed\",\"tools\":0,"
                 "\"starts\":1,\"calls\":0,\"refused\":0,\"fault\":\"no\"},"
                 "{\"name\":\"b\",\"state\":\"starting\",\"tools\":0,"
                 "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void a_file_that_is_wrong_names_no_server(void **state)
{
    make(*state, "{\"mcpServers\":{\"s\":{\"command\":1}}}");
    look();
    DID("");
    is_described("[]");
}

static void a_profile_without_tools_has_no_server(void **state)
{
    fake_profile.gives_tools = 0;
    make(*state, "{\"mcpServers\":{\"s\":{\"command\":\"x\"}}}");
    look();
    DID("");
    is_described("[]");
}

static void they_end_with_the_gateway(void **state)
{
    make(*state, "{\"mcpServers\":{\"a\":{\"command\":\"x\"},"
                 "\"b\":{\"command\":\"y\"}}}");
    look();
    machine.ended = 101;
    look();
    forget();
    tool_servers_destroy(&servers);
    DID("kill 102 15; await 102");
}

static void one_that_ends_is_started_again_after_a_pause(void **state)
{
    (void) state;
    look();
    forget();
    machine.ended = 101;
    look();
    DID("");
    is_described("[{\"name\":\"s\",\"state\":\"failed\",\"tools\":0,\"starts\":"
                 "1,\"calls\":0,\"refused\":0,\"fault\":\"" DOWN "1 s\"}]");
    pass(999);
    DID("");
    pass(1);
    DID("start s of python3");
}

/* Ends the process and waits until it runs again. Returns the pause in ms. */
static int64_t pause_after_end(void)
{
    int64_t began_ms;

    machine.ended = machine.pid;
    look();
    began_ms = rig_outside.now_ms;
    forget();
    while (!*deeds_take())
        pass(500);
    return rig_outside.now_ms - began_ms;
}

static void the_pause_grows(void **state)
{
    static const int64_t pauses_ms[] = {1000,  2000,  4000,  8000,
                                        16000, 32000, 60000, 60000};

    (void) state;
    look();
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
    machine.cannot_start = true;
    look();
    DID("start s of python3");
    is_described("[{\"name\":\"s\",\"state\":\"failed\",\"tools\":0,\"starts\":"
                 "1,\"calls\":0,\"refused\":0,\"fault\":\"the server s: there "
                 "is no such program; it is started again in 1 s\"}]");
    pass(999);
    DID("");
    machine.cannot_start = false;
    pass(1);
    DID("start s of python3");
    tool_servers_destroy(&servers);
    DID("kill 101 15; await 101");
}

/* --- Tools --- */

static void its_tools_are_given_to_the_sessions_of_its_profile(void **state)
{
    static profile_t other;
    registry_parts_t *parts = *state;
    session_entry_t *first = add(parts, "one", FAKE_TAKEN);

    add(parts, "gone", FAKE_GONE);
    add(parts, "two", FAKE_TAKEN)->profile = &other;
    tool_servers_greet(servers, first);
    SAID("");
    look();
    offer(1, OFFER);
    ANSWERED("1 {\"status\":\"ok\"}");
    SAID("one TOOLS register hearth.cfg/s " OFFER);
    offer(2, OFFER);
    SAID("");
    tool_servers_greet(servers, first);
    SAID("one TOOLS register hearth.cfg/s " OFFER);
    offer(3, "[]");
    SAID("one TOOLS register hearth.cfg/s []");
    is_described("[{\"name\":\"s\",\"state\":\"ready\",\"tools\":0,"
                 "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void only_tools_that_the_profile_permits_are_given(void **state)
{
    static char name[] = "t";
    static char *permitted[] = {name, NULL};
    registry_parts_t *parts = *state;

    add(parts, "one", FAKE_TAKEN);
    fake_profile.tools = permitted;
    look();
    offer(1, "[{\"name\":\"u\"},{\"name\":\"t\"}]");
    SAID("one TOOLS register hearth.cfg/s " OFFER);
    is_described("[{\"name\":\"s\",\"state\":\"ready\",\"tools\":1,"
                 "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void an_offer_that_is_wrong_is_refused(void **state)
{
    registry_parts_t *parts = *state;

    add(parts, "one", FAKE_TAKEN);
    look();
    offer(1, "[{\"name\":7}]");
    assert_string_equal(rig_answers(), "BadRequest");
    SAID("");
    is_described("[{\"name\":\"s\",\"state\":\"starting\",\"tools\":0,"
                 "\"starts\":1,\"calls\":0,\"refused\":0}]");
}

static void a_server_says_that_it_is_down_and_up(void **state)
{
    (void) state;
    be_ready();
    ask("{\"n\":2,\"profile\":\"python3\",\"name\":\"s\",\"order\":\"down\","
        "\"text\":\"it hangs\"}");
    ANSWERED("2 {\"status\":\"ok\"}");
    is_described("[{\"name\":\"s\",\"state\":\"failed\",\"tools\":1,\"starts\":"
                 "1,\"calls\":0,\"refused\":0,\"fault\":\"it hangs\"}]");
    offer(3, OFFER);
    is_described("[{\"name\":\"s\",\"state\":\"ready\",\"tools\":1,\"starts\":"
                 "1,\"calls\":0,\"refused\":0}]");
}

/* --- Calls --- */

static void a_call_goes_to_the_process_that_waits(void **state)
{
    registry_parts_t *parts = *state;
    const session_entry_t *entry = add(parts, "one", FAKE_TAKEN);

    be_ready();
    wait_for_calls(5, 1000);
    ANSWERED("");
    call_s(entry, 7);
    ANSWERED("5 {\"calls\":[{\"call\":\"TEXT\",\"session\":\"one\"}],"
             "\"status\":\"ok\"}");
    call_s(entry, 8);
    call_s(entry, 9);
    ANSWERED("");
    wait_for_calls(6, 1000);
    ANSWERED("6 {\"calls\":[{\"call\":\"TEXT\",\"session\":\"one\"},"
             "{\"call\":\"TEXT\",\"session\":\"one\"}],\"status\":\"ok\"}");
    SAID("");
    is_described("[{\"name\":\"s\",\"state\":\"ready\",\"tools\":1,\"starts\":"
                 "1,\"calls\":3,\"refused\":0}]");
}

static void a_process_waits_for_its_time(void **state)
{
    (void) state;
    be_ready();
    wait_for_calls(5, 1000);
    pass(999);
    ANSWERED("");
    pass(1);
    ANSWERED("5 {\"calls\":[],\"status\":\"ok\"}");
    wait_for_calls(6, 0);
    ANSWERED("6 {\"calls\":[],\"status\":\"ok\"}");
    wait_for_calls(7, 1);
    ANSWERED("");
    wait_for_calls(8, 1000);
    ANSWERED("7 {\"calls\":[],\"status\":\"ok\"}");
}

static void a_call_goes_to_its_own_server(void **state)
{
    static profile_t other;
    registry_parts_t *parts = *state;
    session_entry_t *entry = add(parts, "one", FAKE_TAKEN);

    be_ready();
    call(entry, 7, "hearth.cfg/x");
    SAID("one TOOLS fail 7 the configuration of the gateway does not name its "
         "server any more (profile/<name>/tools/servers)");
    entry->profile = &other;
    call_s(entry, 8);
    SAID("one TOOLS fail 8 the configuration of the gateway does not name its "
         "server any more (profile/<name>/tools/servers)");
}

static void a_call_fails_while_no_process_runs(void **state)
{
    registry_parts_t *parts = *state;
    const session_entry_t *entry = add(parts, "one", FAKE_TAKEN);

    be_ready();
    machine.ended = 101;
    look();
    forget();
    call_s(entry, 7);
    SAID("one TOOLS fail 7 " DOWN "1 s");
    is_described("[{\"name\":\"s\",\"state\":\"failed\",\"tools\":1,\"starts\":"
                 "1,\"calls\":0,\"refused\":1,\"fault\":\"" DOWN "1 s\"}]");
}

static void calls_fail_when_the_process_ends(void **state)
{
    static profile_t other;
    registry_parts_t *parts = *state;
    const session_entry_t *entry = add(parts, "one", FAKE_TAKEN);

    add(parts, "gone", FAKE_GONE);
    add(parts, "two", FAKE_TAKEN)->profile = &other;
    be_ready();
    call_s(entry, 7);
    wait_for_calls(4, 1000);
    forget();
    wait_for_calls(5, 1000);
    machine.ended = 101;
    look();
    SAID("one TOOLS leave hearth.cfg/s " DOWN "1 s");
    /* No request waits, and no call is kept. */
    pass(1000);
    ANSWERED("");
    wait_for_calls(6, 0);
    ANSWERED("6 {\"calls\":[],\"status\":\"ok\"}");
}

/* A call that was not given yet is not given to the next process. */
static void calls_that_wait_are_forgotten_with_the_process(void **state)
{
    registry_parts_t *parts = *state;

    be_ready();
    call_s(add(parts, "one", FAKE_TAKEN), 7);
    machine.ended = 101;
    look();
    pass(1000);
    wait_for_calls(6, 0);
    ANSWERED("6 {\"calls\":[],\"status\":\"ok\"}");
}

static void too_many_calls_do_not_wait(void **state)
{
    registry_parts_t *parts = *state;
    const session_entry_t *entry = add(parts, "one", FAKE_TAKEN);

    be_ready();
    for (uint64_t i = 1; i <= 1024; i++)
        call_s(entry, i);
    SAID("");
    call_s(entry, 1025);
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
    look();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ask(wrong[i]);
        assert_string_equal(rig_answers(), "BadRequest");
    }
    ask("{\"profile\":\"python3\",\"name\":\"s\",\"order\":\"x\","
        "\"text\":\"\"}");
    assert_string_equal(rig_answers(), "BadRequest");
    ask(wrong[0]);
    assert_non_null(
        strstr(fake_answered(), "the gateway has started no such tool server"));
    ask(wrong[4]);
    assert_non_null(strstr(fake_answered(), "`order` must be take, or offer"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

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
