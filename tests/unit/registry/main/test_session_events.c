/* What the registry does with what sessions report. The registry's parts are
 * real, the sessions are records. */
#include "gateway/registry/main/session_events.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/stats.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/session/tools/tool_offer.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <string.h>
#include <unistd.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define SAID(text)    assert_string_equal(fake_said(), text)
#define ANSWERS(text) assert_string_equal(rig_answers(), text)

static void take(const registry_parts_t *parts, session_entry_t *entry,
                 session_report_t *report)
{
    session_events_take(parts, entry, &report);
    assert_null(report);
}

static void report(const registry_parts_t *parts, session_entry_t *entry,
                   session_report_kind_t kind)
{
    take(parts, entry, session_report_new(kind, 0));
}

static void report_gone(const registry_parts_t *parts, session_entry_t *entry)
{
    session_report_t *made = session_report_new(SESSION_GONE, 0);

    snprintf(made->gone.reason, sizeof made->gone.reason, "memory");
    made->gone.detail = mem_text("too much");
    take(parts, entry, made);
}

/* A session that a client waits for. */
static session_entry_t *start(const registry_parts_t *parts, const char *id)
{
    message_t *request = rig_request("session_create_request", "{}");
    session_entry_t *entry =
        fake_add(parts->table, id, FAKE_FRESH, rig_outside.now_ms);

    entry->create_token =
        pending_requests_add_start(parts->pending, NULL, &request, 0);
    return entry;
}

static session_entry_t *add_member(const registry_parts_t *parts,
                                   const char *id)
{
    session_entry_t *entry =
        fake_add(parts->table, id, FAKE_POOLED, rig_outside.now_ms);

    pool_join(parts->pool, entry);
    return entry;
}

static json_int_t count(const registry_parts_t *parts, const char *group,
                        const char *name)
{
    json_auto_t *model = stats_describe(parts->stats);

    return json_integer_value(
        json_object_get(json_object_get(model, group), name));
}

static void ready_answers_the_client(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = start(parts, "a");
    session_report_t *ready = session_report_new(SESSION_READY, 0);

    ready->answer = json_pack("{s:s}", "status", "ok");
    take(parts, entry, ready);
    ANSWERS("ok");
    SAID("");
    assert_int_equal(entry->state, SESSION_ENTRY_READY);
    assert_int_equal(entry->create_token, 0);
    assert_int_equal(count(parts, "starts", "count"), 1);
    /* Ready again, after a restart: no client waits. */
    report(parts, entry, SESSION_READY);
    ANSWERS("");
    assert_int_equal(count(parts, "starts", "count"), 1);
}

static void a_session_without_a_process_is_asked_for_its_state(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = start(parts, "a");
    uint64_t token = entry->create_token;
    cleanup_free char *said = mem_format("a SHOW %d", (int) token);

    report(parts, entry, SESSION_READY);
    ANSWERS("");
    SAID(said);
}

static void the_end_of_a_start_makes_room(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *first = start(parts, "a"), *second = start(parts, "b");
    message_t *request = rig_request("session_create_request", "{}");
    json_auto_t *content = json_object();

    create_make(parts->create, content, &request);
    DID("");
    report(parts, first, SESSION_READY);
    DID("start s1 for uid=7; launch s1");
    request = rig_request("session_create_request", "{}");
    create_make(parts->create, content, &request);
    DID("");
    report_gone(parts, second);
    DID("unwatch b; unpark b; release b; sweep; start s2 for uid=7; "
        "launch s2");
    ANSWERS("SessionNotStarted");
}

static void a_member_is_counted_by_the_pool(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *member = add_member(parts, "p");

    report(parts, member, SESSION_READY);
    assert_ptr_equal(pool_find(parts->pool, &fake_profile), member);
    report_gone(parts, member);
    assert_null(pool_find(parts->pool, &fake_profile));
    assert_int_equal(count(parts, "ended", "memory"), 0);
}

static void an_end_is_counted_once(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = fake_add(parts->table, "a", FAKE_TAKEN, 0);

    report_gone(parts, entry);
    DID("unwatch a; unpark a; release a; sweep");
    assert_int_equal(count(parts, "ended", "memory"), 1);
    assert_true(session_entry_is_gone(entry));
    assert_int_equal(entry->gone_ms, rig_outside.now_ms);
    report_gone(parts, entry);
    DID("unpark a; release a; sweep");
    assert_int_equal(count(parts, "ended", "memory"), 1);
}

static void the_client_of_a_spent_member_gets_another_session(void **state)
{
    const registry_parts_t *parts = *state;
    message_t *request = rig_request("session_create_request", "{}");
    json_auto_t *content = json_object();
    session_entry_t *member = add_member(parts, "p");

    session_table_set_ready(parts->table, member);
    create_make(parts->create, content, &request);
    assert_non_null(strstr(fake_said(), "p HAND"));
    report(parts, member, SESSION_SPENT);
    DID("start s1 for uid=7; launch s1");
    assert_true(member->is_pooled);
    assert_int_equal(member->state, SESSION_ENTRY_WAITING);
    assert_int_equal(member->hand_token, 0);
    ANSWERS("");
    report(parts, member, SESSION_SPENT);
    DID("");
}

static void the_client_of_a_member_that_ended_gets_another_session(void **state)
{
    const registry_parts_t *parts = *state;
    message_t *request = rig_request("session_create_request", "{}");
    json_auto_t *content = json_object();
    session_entry_t *member = add_member(parts, "p");

    session_table_set_ready(parts->table, member);
    create_make(parts->create, content, &request);
    report_gone(parts, member);
    DID("unwatch p; unpark p; release p; sweep; start s1 for uid=7; "
        "launch s1");
    assert_true(session_entry_is_gone(member));
}

static void a_hand_over_ends_with_its_answer(void **state)
{
    const registry_parts_t *parts = *state;
    message_t *request = rig_request("session_create_request", "{}");
    json_auto_t *content = json_object();
    session_entry_t *member = add_member(parts, "p");
    session_report_t *answer;

    session_table_set_ready(parts->table, member);
    create_make(parts->create, content, &request);
    take(parts, member, session_report_new(SESSION_HANDED, member->hand_token));
    assert_int_equal(count(parts, "starts", "count"), 1);
    answer = session_report_new(SESSION_ANSWERED, member->hand_token);
    answer->answer =
        json_pack("{s:s,s:{s:s}}", "status", "ok", "session", "id", "p");
    take(parts, member, answer);
    ANSWERS("ok");
    {
        json_auto_t *last = responses_last(&member->response, "p", "python3");

        assert_string_equal(json_string_value(json_object_get(last, "id")),
                            "p");
    }
}

static void launches_are_passed_on(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = fake_add(parts->table, "a", FAKE_TAKEN, 0);

    report(parts, entry, SESSION_LAUNCH);
    report(parts, entry, SESSION_STALE);
    DID("launch a; stale a");
}

static void limits_and_latencies_are_counted(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = fake_add(parts->table, "a", FAKE_TAKEN, 0);
    session_report_t *limit = session_report_new(SESSION_LIMIT, 0);
    session_report_t *latency = session_report_new(SESSION_LATENCY, 0);

    limit->text = mem_text("output");
    take(parts, entry, limit);
    assert_int_equal(count(parts, "limits", "output"), 1);
    histogram_note(&latency->latency, histogram_round_trip, 1000);
    take(parts, entry, latency);
    assert_int_equal(count(parts, "trips", "count"), 1);
}

static void a_group_that_is_left_goes_to_the_sweep(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = fake_add(parts->table, "a", FAKE_TAKEN, 0);
    session_report_t *left = session_report_new(SESSION_LEFT, 0);

    left->text = mem_text("a.1");
    take(parts, entry, left);
    DID("sweep a.1");
    assert_false(session_entry_is_gone(entry));
}

static char *make_folder(const char *name)
{
    char *path = mem_format("%s/%s", rig_outside.folder, name);
    fault_t fault;

    assert_int_equal(path_make_folders(path, 0700, &fault), 0);
    return path;
}

static void a_removed_session_keeps_its_state_folder(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = fake_add(parts->table, "a", FAKE_GONE, 0);
    cleanup_free char *kept = make_folder("sessions/a");
    cleanup_free char *runtime = make_folder("run");

    free(entry->runtime_folder);
    entry->runtime_folder = mem_text(runtime);
    report(parts, entry, SESSION_REMOVED);
    DID("unpark a; release a; sweep; forget a; release a; sweep; redo a");
    assert_int_equal(session_table_count(parts->table), 0);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_not_equal(access(runtime, F_OK), 0);
}

static void a_removed_member_leaves_nothing(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *member = add_member(parts, "p");
    cleanup_free char *folder = make_folder("sessions/p");

    report_gone(parts, member);
    report(parts, member, SESSION_REMOVED);
    assert_int_not_equal(access(folder, F_OK), 0);
    assert_null(pool_find(parts->pool, &fake_profile));
}

static void a_session_that_is_revived_is_not_removed(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = start(parts, "a");

    report(parts, entry, SESSION_REMOVED);
    DID("");
    assert_int_equal(session_table_count(parts->table), 1);
}

static void a_session_that_could_not_begin_is_removed(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = start(parts, "a");
    session_report_t *broken = session_report_new(SESSION_BROKEN, 0);

    broken->text = mem_text("no ports");
    take(parts, entry, broken);
    ANSWERS("SessionNotStarted");
    assert_int_equal(session_table_count(parts->table), 0);
}

static void a_drained_session_is_kept(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = fake_add(parts->table, "a", FAKE_TAKEN, 0);

    report(parts, entry, SESSION_DRAINED);
    assert_int_equal(entry->state, SESSION_ENTRY_DRAINED);
}

static void report_call(const registry_parts_t *parts, session_entry_t *entry,
                        const char *provider)
{
    session_report_t *made = session_report_new(SESSION_CALL, 0);

    made->call = (session_call_t){
        .provider = mem_text(provider),
        .text = mem_text("{\"call\":5,\"arguments\":{\"order\":\"add\"}}"),
        .id = 5,
    };
    take(parts, entry, made);
}

static void calls_go_to_whom_they_are_for(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = fake_add(parts->table, "aa1", FAKE_TAKEN, 0);

    report_call(parts, entry, TOOL_PACKAGES);
    assert_non_null(strstr(fake_said(), "\"ename\":\"BadRequest\""));
    report_call(parts, entry, TOOL_FETCH);
    assert_non_null(strstr(fake_said(), "order must be fetch"));
    report_call(parts, entry, TOOL_SERVER_PREFIX "weather");
    SAID("aa1 TOOLS fail 5 the configuration of the gateway does not name its "
         "server any more (profile/<name>/tools/servers)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ready_answers_the_client),
        TEST(a_session_without_a_process_is_asked_for_its_state),
        TEST(the_end_of_a_start_makes_room),
        TEST(a_member_is_counted_by_the_pool),
        TEST(an_end_is_counted_once),
        TEST(the_client_of_a_spent_member_gets_another_session),
        TEST(the_client_of_a_member_that_ended_gets_another_session),
        TEST(a_hand_over_ends_with_its_answer),
        TEST(launches_are_passed_on),
        TEST(limits_and_latencies_are_counted),
        TEST(a_group_that_is_left_goes_to_the_sweep),
        TEST(a_removed_session_keeps_its_state_folder),
        TEST(a_removed_member_leaves_nothing),
        TEST(a_session_that_is_revived_is_not_removed),
        TEST(a_session_that_could_not_begin_is_removed),
        TEST(a_drained_session_is_kept),
        TEST(calls_go_to_whom_they_are_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
