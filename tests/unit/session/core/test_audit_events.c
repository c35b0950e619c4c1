/* Records of a session in the audit log: lengths and hashes of code, never the
 * code. */
#include "base/clock.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/limits/resource_monitor.h"

#include "tests/lib/checked.h"
#include "tests/lib/session_fakes.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))
#define NOT(text, of) assert_null(strstr(deeds_content(of), text))

static request_t *make(const char *code)
{
    cleanup_free char *content = mem_format("{\"code\":\"%s\"}", code);
    message_t *message = message_new(
        text_bytes("{\"msg_id\":\"m\",\"session\":\"c\",\"msg_type\":"
                   "\"execute_request\"}"),
        text_bytes("{}"), text_bytes("{}"), text_bytes(content));

    message_add_identity(message, "me", 2);
    return request_new(7, CHANNEL_SHELL, &message);
}

static void code_is_a_length_and_a_hash(void **state)
{
    session_t *self = *state;
    request_t *request = make("secret");

    audit_events_cell_begin(self->audit, request);
    DID("audit cell_start ok by client=me");
    HAS("\"length\":6", "cell_start");
    HAS("\"msg_id\":\"m\"", "cell_start");
    HAS("\"request\":7", "cell_start");
    /* echo -n secret | sha256sum */
    HAS("2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
        "cell_start");
    NOT("secret", "cell_start");
    request_destroy(&request);
}

/* Its begin has a record of the gateway that began it. */
static void a_cell_that_is_taken_over_begins_once(void **state)
{
    session_t *self = *state;
    request_t *request = make("secret");

    request->begun_us = clock_wall_us() - 90 * INT64_C(1000000);
    audit_events_cell_resume(self->audit, request);
    DID("");
    audit_events_cell_end(self->audit, request, checked("{\"status\":\"ok\"}"),
                          0, &(cell_cost_t){0});
    DID("audit cell_end ok by client=me");
    HAS("\"ms\":9", "cell_end"); /* 90 s and a bit; not 0 */
    request_destroy(&request);
}

static void a_cell_without_code_has_a_hash_too(void **state)
{
    session_t *self = *state;
    request_t *request = make("");

    audit_events_cell_begin(self->audit, request);
    HAS("\"length\":0", "cell_start");
    HAS("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "cell_start");
    request_destroy(&request);
}

static void the_end_has_time_cost_and_outcome(void **state)
{
    static const cell_cost_t cost = {.cpu_us = 5000,
                                     .peak_bytes = 3 << 20,
                                     .is_known = true,
                                     .has_own_peak = true};
    session_t *self = *state;
    request_t *request = make("1");

    audit_events_cell_begin(self->audit, request);
    fake_outside.now_ms += 42;
    (void) deeds_take();
    audit_events_cell_end(self->audit, request, checked("{\"status\":\"ok\"}"),
                          99, &cost);
    DID("audit cell_end ok by client=me");
    HAS("\"ms\":42", "cell_end");
    HAS("\"bytes_out\":99", "cell_end");
    HAS("\"cpu_ms\":5", "cell_end");
    HAS("\"peak_memory_kib\":3072", "cell_end");
    HAS("\"ename\":null", "cell_end");
    request_destroy(&request);
}

static void a_cost_that_is_not_known_is_left_out(void **state)
{
    session_t *self = *state;
    request_t *request = make("1");
    cell_cost_t cost = {.cpu_us = 5000, .has_own_peak = true};

    audit_events_cell_end(self->audit, request, checked("{\"status\":\"ok\"}"),
                          0, &cost);
    NOT("cpu_ms", "cell_end");
    NOT("peak", "cell_end");
    cost = (cell_cost_t){.cpu_us = 5000, .is_known = true};
    audit_events_cell_end(self->audit, request, checked("{\"status\":\"ok\"}"),
                          0, &cost);
    HAS("cpu_ms", "cell_end");
    NOT("peak", "cell_end");
    request_destroy(&request);
}

static void a_failure_has_a_name_and_no_text(void **state)
{
    static const cell_cost_t none;
    session_t *self = *state;
    request_t *request = make("1");
    cleanup_free char *content =
        mem_format("{\"status\":\"error\",\"ename\":\"%0100d\",\"evalue\":"
                   "\"my data\"}",
                   0);
    cleanup_free char *cut = mem_format("\"ename\":\"%080d\"", 0);

    audit_events_cell_end(self->audit, request, checked(content), 0, &none);
    DID("audit cell_end error by client=me");
    HAS(cut, "cell_end");
    NOT("my data", "cell_end");
    audit_events_cell_end(self->audit, request, checked("{\"status\":\"\"}"), 0,
                          &none);
    audit_events_cell_end(self->audit, request, checked("{}"), 0, &none);
    DID("audit cell_end error by client=me; audit cell_end error by client=me");
    request_destroy(&request);
}

static void a_refusal_by_the_policy_has_a_record(void **state)
{
    static const cell_cost_t none;
    session_t *self = *state;
    request_t *request = make("1");

    audit_events_cell_end(self->audit, request,
                          checked("{\"status\":\"error\",\"ename\":"
                                  "\"PolicyError\",\"evalue\":\"no sockets\"}"),
                          0, &none);
    DID("audit cell_end error by client=me; audit policy refused by client=me");
    HAS("\"text\":\"no sockets\"", "policy");
    request_destroy(&request);
}

static void a_lost_cell_has_a_time(void **state)
{
    session_t *self = *state;
    request_t *request = make("1");

    audit_events_cell_begin(self->audit, request);
    (void) deeds_take();
    fake_outside.now_ms += 7;
    audit_events_cell_lost(self->audit, request);
    DID("audit cell_end lost by client=me");
    HAS("\"ms\":7", "cell_end");
    request_destroy(&request);
}

static void the_start_names_the_walls_in_force(void **state)
{
    session_t *self = *state;
    session_spec_t *spec = self->spec;

    spec->process.host_uid = 1234;
    audit_events_start(self->audit);
    DID("audit session_start ok by gateway");
    HAS("\"posture\":\"ok\"", "session_start");
    HAS("\"host_uid\":1234", "session_start");
    HAS("\"network\":\"none\"", "session_start");
    HAS("\"cgroup\":\"\"", "session_start");
    HAS("\"without\":[]", "session_start");
    HAS("\"name\":\"a name\"", "session_start");
    spec->is_adopted = true;
    spec->group.name = mem_text("g.1");
    spec->asked.downloads.packages = mem_text("{\"deny\":[\"torch\"]}");
    spec->asked.downloads.fetch = mem_text("{\"allow\":[]}");
    spec->asker = mem_text("uid=7");
    fake_session_profile.network = 1;
    audit_events_start(self->audit);
    DID("audit session_start adopted by uid=7");
    HAS("\"posture\":\"adopted\"", "session_start");
    HAS("\"cgroup\":\"g.1\"", "session_start");
    HAS("\"packages\":{\"deny\":[\"torch\"]}", "session_start");
    HAS("\"fetch\":{\"allow\":[]}", "session_start");
    HAS("\"network\":\"loopback\"", "session_start");
}

static void a_process_can_be_found_by_its_namespaces(void **state)
{
    session_t *self = *state;
    struct stat seen;
    cleanup_free char *expected = NULL;

    audit_events_start(self->audit); /* there is no process */
    HAS("\"namespaces\":{}", "session_start");
    self->spec->process.pid = getpid();
    audit_events_start(self->audit);
    assert_int_equal(stat("/proc/self/ns/uts", &seen), 0);
    expected = mem_format("\"uts\":%llu}", (unsigned long long) seen.st_ino);
    HAS(expected, "session_start");
}

static void the_end_says_how(void **state)
{
    static const end_cause_t cause = {.reason = END_REASON_SIGNAL,
                                      .detail = "it crashed"};
    static const kernel_end_t end = {
        .by_signal = true, .code = 11, .cpu_ms = 5, .maxrss_kib = 6};
    session_t *self = *state;

    audit_events_end(self->audit, &cause, &end);
    DID("audit session_end signal by gateway");
    HAS("\"by_signal\":true,\"code\":11,\"cpu_ms\":5,\"detail\":\"it "
        "crashed\",\"maxrss_kib\":6",
        "session_end");
}

static void limits_and_breaches_have_a_record(void **state)
{
    static const struct {
        end_reason_t reason;
        const char *did;
        bool is_limit;
    } causes[] = {
        {END_REASON_MEMORY, "audit limit memory by kernel", true},
        {END_REASON_PROCESSES, "audit limit processes by kernel", true},
        {END_REASON_CPU, "audit limit cpu by kernel", true},
        {END_REASON_WALL, "audit limit wall by kernel", true},
        {END_REASON_WORKSPACE, "audit limit workspace by kernel", true},
        {END_REASON_OUTPUT, "audit limit output by kernel", true},
        {END_REASON_PROTOCOL, "audit protocol protocol by kernel", false},
        {END_REASON_DELETED, "", false},
        {END_REASON_SIGNAL, "", false},
    };
    session_t *self = *state;

    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        end_cause_t cause = {.reason = causes[i].reason};

        assert_int_equal(audit_events_stop(self->audit, &cause),
                         causes[i].is_limit);
        DID(causes[i].did);
    }
}

static void refusals_name_their_object(void **state)
{
    session_t *self = *state;

    audit_events_limit(self->audit, "processes", 9);
    DID("audit limit refused by kernel");
    HAS("{\"limit\":\"processes\",\"max\":9}", "limit");
    audit_events_full(self->audit, "requests", 8);
    DID("audit limit refused by gateway");
    HAS("{\"limit\":\"requests\",\"max\":8}", "limit");
    audit_events_limit_said(self->audit, "memory", 7, 6);
    DID("audit limit refused by kernel");
    HAS("{\"limit\":\"memory\",\"max\":6,\"said_by\":\"kernel\",\"used\":7}",
        "limit");
    audit_events_bad_message(self->audit, CHANNEL_SHELL, "signature", 3);
    DID("audit message dropped by unknown");
    HAS("{\"channel\":\"shell\",\"count\":3,\"verdict\":\"signature\"}",
        "message");
}

/* The wall clock may have been set back meanwhile. */
static void a_cell_from_the_future_begins_now(void **state)
{
    session_t *self = *state;
    request_t *request = make("secret");

    request->begun_us = clock_wall_us() + INT64_C(5000000);
    audit_events_cell_resume(self->audit, request);
    fake_outside.now_ms += 3;
    audit_events_cell_lost(self->audit, request);
    HAS("\"ms\":3,", "cell_end");
    request->begun_us = clock_wall_us() - 2000;
    audit_events_cell_resume(self->audit, request);
    audit_events_cell_lost(self->audit, request);
    HAS("\"ms\":2,", "cell_end");
    request_destroy(&request);
}

static void walls_that_are_left_out_are_named(void **state)
{
    static char one[] = "landlock", other[] = "seccomp";
    char *walls[] = {one, other, NULL};
    session_t *self = *state;
    char **none = fake_session_profile.without;

    fake_session_profile.without = walls;
    audit_events_start(self->audit);
    HAS("\"without\":[\"landlock\",\"seccomp\"]", "session_start");
    fake_session_profile.without = none;
}

static void processes_begin_and_end(void **state)
{
    session_t *self = *state;
    audit_process_t process = {"token=1", 7, "[\"secret\"]", true};
    audit_process_end_t end = {"it exited with 3", 35, 12, false};

    audit_events_process_start(self->audit, &process);
    DID("audit process_start ok by token=1");
    HAS("\"process\":7", "process_start");
    HAS("\"length\":10", "process_start");
    HAS("\"terminal\":true", "process_start");
    /* echo -n '["secret"]' | sha256sum */
    HAS("7ed6936249ddb5c87cc52acf02d9c1fe7ea39bf6cf31c3dedee02ec26dfc7b92",
        "process_start");
    NOT("secret", "process_start");
    audit_events_process_end(self->audit, &process, &end);
    DID("audit process_end ok by token=1");
    HAS("\"bytes\":35,\"cpu_ms\":12,\"detail\":\"it exited with 3\"",
        "process_end");
    end.is_lost = true;
    end.detail = "its keeper has ended";
    audit_events_process_end(self->audit, &process, &end);
    DID("audit process_end lost by token=1");
    HAS("its keeper has ended", "process_end");
}

static void providers_of_tools_come_and_go(void **state)
{
    session_t *self = *state;

    audit_events_tools(self->audit, "token=1", "agent", 2);
    DID("audit tools registered by token=1");
    HAS("{\"provider\":\"agent\",\"tools\":2}", "tools");
    audit_events_tools(self->audit, "token=1", "agent", 0);
    DID("audit tools removed by token=1");
}

/* Twenty have a record each; then one each half second, which counts those that
 * were left out. */
static void what_code_repeats_has_few_records(void **state)
{
    session_t *self = *state;
    audit_call_t call = {.who = "token=1",
                         .outcome = "refused",
                         .tool = "t",
                         .provider = "",
                         .request = 4,
                         .arguments = 5,
                         .result = 6,
                         .ms = 8,
                         .is_refused = true};

    for (int i = 0; i < 20; i++) {
        audit_events_call(self->audit, &call);
        DID("audit tool_call refused by token=1");
        audit_events_tool_limit(self->audit, "tool_calls", 3);
        DID("audit limit refused by kernel");
    }
    HAS("{\"argument_bytes\":5,\"count\":1,\"ms\":8,\"provider\":\"\","
        "\"request\":4,\"result_bytes\":6,\"tool\":\"t\"}",
        "tool_call");
    HAS("{\"count\":1,\"limit\":\"tool_calls\",\"max\":3}", "limit");
    for (int i = 0; i < 4; i++) {
        audit_events_call(self->audit, &call);
        audit_events_tool_limit(self->audit, "tool_calls", 3);
    }
    DID("");
    /* A call that a process answered always has one. */
    call.is_refused = false;
    audit_events_call(self->audit, &call);
    DID("audit tool_call refused by token=1");
    HAS("\"count\":1,", "tool_call");
    call.is_refused = true;
    fake_outside.now_ms += 500;
    audit_events_call(self->audit, &call);
    audit_events_tool_limit(self->audit, "tool_calls", 3);
    DID("audit tool_call refused by token=1; audit limit refused by kernel");
    HAS("\"count\":5,", "tool_call");
    HAS("{\"count\":5,", "limit");
}

static void what_was_not_made_is_not_destroyed(void **state)
{
    audit_events_t *none = NULL;

    (void) state;
    audit_events_destroy(&none);
    assert_null(none);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(code_is_a_length_and_a_hash),
        TEST(a_cell_that_is_taken_over_begins_once),
        TEST(a_cell_without_code_has_a_hash_too),
        TEST(the_end_has_time_cost_and_outcome),
        TEST(a_cost_that_is_not_known_is_left_out),
        TEST(a_failure_has_a_name_and_no_text),
        TEST(a_refusal_by_the_policy_has_a_record),
        TEST(a_lost_cell_has_a_time),
        TEST(the_start_names_the_walls_in_force),
        TEST(a_process_can_be_found_by_its_namespaces),
        TEST(the_end_says_how),
        TEST(limits_and_breaches_have_a_record),
        TEST(refusals_name_their_object),
        TEST(a_cell_from_the_future_begins_now),
        TEST(walls_that_are_left_out_are_named),
        TEST(processes_begin_and_end),
        TEST(providers_of_tools_come_and_go),
        TEST(what_code_repeats_has_few_records),
        TEST(what_was_not_made_is_not_destroyed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
