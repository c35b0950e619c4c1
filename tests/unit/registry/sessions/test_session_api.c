/* Requests about a session and its viewers: passed on to the one that has the
 * answer, or refused with what is wrong. Sessions and frontends are records. */
#include "gateway/registry/sessions/session_api.h"

#include "base/buffer.h"
#include "gateway/registry/api/endpoints_api.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/stats.h"
#include "gateway/registry/sessions/package_wait.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define SAID(text)    assert_string_equal(fake_said(), text)
#define ANSWERS(text) assert_string_equal(rig_answers(), text)

typedef void handler_fn(const registry_parts_t *parts, json_t *content,
                        message_t **request_p);

static void ask(handler_fn *handler, const registry_parts_t *parts,
                const char *content)
{
    message_t *request = rig_request("request", content);
    json_auto_t *json = json_loads(content, 0, NULL);

    assert_non_null(json);
    handler(parts, json, &request);
    message_destroy(&request); /* where it was not taken */
}

static int begin(void **state)
{
    const registry_parts_t *parts;

    if (rig_begin(state) < 0)
        return -1;
    parts = *state;
    fake_add(parts->table, "aa1", FAKE_TAKEN, 0);
    fake_add(parts->table, "aa2", FAKE_TAKEN, 0);
    fake_add(parts->table, "gone", FAKE_GONE, 0);
    return 0;
}

static size_t count_none(void *arg)
{
    (void) arg;
    return 0;
}

/* Returns "" if the command was sent, else what was. */
static const char *sent(const char *command)
{
    const char *said = fake_said();

    if (strncmp(said, command, strlen(command)) == 0)
        return "";
    return *said ? said : "no command";
}

static void each_request_is_a_command(void **state)
{
    static const struct {
        handler_fn *handler;
        const char *content, *command;
    } requests[] = {
        {session_api_on_show, "{\"id\":\"aa1\"}", "aa1 SHOW"},
        {session_api_on_delete, "{\"id\":\"aa1\"}", "aa1 DELETE"},
        {session_api_on_interrupt, "{\"id\":\"aa1\"}", "aa1 INTERRUPT"},
        {session_api_on_restart, "{\"id\":\"aa2\"}", "aa2 RESTART"},
        {session_api_on_keepalive, "{\"id\":\"aa2\"}", "aa2 TOUCH"},
        {session_api_on_note, "{\"id\":\"aa2\",\"text\":\"t\"}", "aa2 NOTE"},
        {session_api_on_revived, "{\"id\":\"aa2\",\"report\":{}}",
         "aa2 REVIVED"},
        {session_api_on_attach, "{\"id\":\"aa2\",\"front\":\"http\"}",
         "aa2 ATTACH"},
        {session_api_on_show, "{\"id\":\"gone\"}", "gone SHOW"},
    };

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        ask(requests[i].handler, *state, requests[i].content);
        assert_string_equal(sent(requests[i].command), "");
    }
    ANSWERS("");
}

/* A reader wants to learn of a loss of variables, and has got it. */
static void a_reader_is_passed_on(void **state)
{
    ask(session_api_on_show, *state, "{\"id\":\"aa1\",\"reader\":\"http/t\"}");
    assert_string_equal(sent("aa1 SHOW"), "");
    assert_string_equal(fake_noted(), "http/t");
    ask(session_api_on_loss_reported, *state,
        "{\"id\":\"aa1\",\"reader\":\"http/t\",\"seq\":7}");
    assert_string_equal(sent("aa1 LOSS_REPORTED"), "");
    assert_string_equal(fake_noted(), "http/t 7");
    ask(session_api_on_loss_reported, *state, "{\"id\":\"aa1\"}");
    assert_string_equal(fake_noted(), " 0");
    ANSWERS("");
}

/* The old kernel would end, and no other could start. */
static void a_restart_that_would_fail_is_refused(void **state)
{
    rig_outside.lacks_packages = "packages/preinstall: no";
    ask(session_api_on_restart, *state, "{\"id\":\"aa2\"}");
    SAID("");
    assert_non_null(strstr(fake_answered(), "packages/preinstall: no"));
    ask(session_api_on_keepalive, *state, "{\"id\":\"aa2\"}");
    assert_string_equal(sent("aa2 TOUCH"), "");
    ask(session_api_on_restart, *state, "{\"id\":\"gone\"}");
    assert_string_equal(sent("gone RESTART"), ""); /* says why it is gone */
    rig_outside.lacks_packages = NULL;
    ask(session_api_on_restart, *state, "{\"id\":\"aa2\"}");
    assert_string_equal(sent("aa2 RESTART"), "");
    ANSWERS("");
}

static void a_restart_waits_for_the_packages_of_its_profile(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.preparing = &fake_profile;
    ask(session_api_on_restart, parts, "{\"id\":\"aa2\"}");
    ask(session_api_on_restart, parts, "{\"id\":\"aa1\"}");
    SAID("");
    ANSWERS("");
    ask(session_api_on_restart, parts, "{\"id\":\"gone\"}");
    assert_string_equal(sent("gone RESTART"), ""); /* says why it is gone */
    /* They cannot be had. */
    rig_outside.preparing = NULL;
    rig_outside.lacks_packages = "packages/preinstall: no";
    package_wait_go_on(parts->package_wait, &fake_profile);
    SAID("");
    ANSWERS("SessionNotStarted SessionNotStarted");
    /* They are there. */
    rig_outside.preparing = &fake_profile;
    rig_outside.lacks_packages = NULL;
    ask(session_api_on_restart, parts, "{\"id\":\"aa2\"}");
    rig_outside.preparing = NULL;
    package_wait_go_on(parts->package_wait, &fake_profile);
    assert_string_equal(sent("aa2 RESTART"), "");
    ANSWERS("");
}

/* The kernel is kept for the next gateway. */
static void a_gateway_that_stops_restarts_nothing(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.preparing = &fake_profile;
    ask(session_api_on_restart, parts, "{\"id\":\"aa2\"}");
    session_table_close(parts->table);
    package_wait_stop(parts->package_wait);
    ANSWERS("GatewayStopping");
    ask(session_api_on_restart, parts, "{\"id\":\"aa2\"}");
    ANSWERS("GatewayStopping");
    SAID("");
}

static void only_a_show_request_has_a_deadline(void **state)
{
    const registry_parts_t *parts = *state;
    const session_entry_t *entry = session_table_find(parts->table, "aa1");

    ask(session_api_on_delete, parts, "{\"id\":\"aa1\"}");
    assert_int_equal(pending_requests_deadline(parts->pending), INT64_MAX);
    assert_int_equal(entry->response.asked_ms, 0);
    ask(session_api_on_show, parts, "{\"id\":\"aa1\"}");
    assert_true(pending_requests_deadline(parts->pending) > rig_outside.now_ms);
    assert_int_equal(entry->response.asked_ms, rig_outside.now_ms);
}

static void a_session_is_found_by_the_beginning_of_its_id(void **state)
{
    ask(session_api_on_show, *state, "{\"id\":\"go\"}");
    assert_string_equal(sent("gone SHOW"), "");
    ask(session_api_on_show, *state, "{\"id\":\"aa\"}");
    SAID("");
    ANSWERS("AmbiguousSession");
    ask(session_api_on_show, *state, "{\"id\":\"zz\"}");
    ANSWERS("UnknownSession");
    ask(session_api_on_show, *state, "{}");
    ANSWERS("UnknownSession");
    ask(session_api_on_show, *state, "{\"id\":7}");
    ANSWERS("UnknownSession");
}

static void a_session_that_is_kept_answers_later(void **state)
{
    const registry_parts_t *parts = *state;

    session_table_set_drained(parts->table,
                              session_table_find(parts->table, "aa1"));
    ask(session_api_on_show, parts, "{\"id\":\"aa1\"}");
    SAID("");
    ANSWERS("GatewayStopping");
}

static void a_tombstone_is_read_from_its_file(void **state)
{
    rig_leave("old", "memory", false);
    ask(session_api_on_show, *state, "{\"id\":\"old\"}");
    {
        const char *text = fake_answered();

        assert_non_null(strstr(text, "\"state\":\"gone\""));
        assert_non_null(strstr(text, "\"reason\":\"memory\""));
        assert_non_null(strstr(text, "\"detail\":\"the detail\""));
        assert_non_null(strstr(text, "\"name\":\"its name\""));
        assert_non_null(strstr(text, "\"profile\":\"python3\""));
    }
    ask(session_api_on_delete, *state, "{\"id\":\"old\"}");
    ANSWERS("SessionGone");
    rig_leave("lost", "", false);
    ask(session_api_on_show, *state, "{\"id\":\"lost\"}");
    assert_non_null(strstr(fake_answered(), "\"reason\":\"lost\""));
}

static void no_client_had_a_member_of_the_pool(void **state)
{
    rig_leave("member", "idle", true);
    ask(session_api_on_show, *state, "{\"id\":\"member\"}");
    ANSWERS("UnknownSession");
}

static void a_note_is_a_text_with_bounds(void **state)
{
    static const char *const flawed[] = {
        "{\"id\":\"aa1\"}",
        "{\"id\":\"aa1\",\"text\":7}",
        "{\"id\":\"aa1\",\"text\":\"\"}",
        "{\"id\":\"aa1\",\"text\":\"t\",\"by\":7}",
        "{\"id\":\"aa1\",\"text\":\"t\",\"call\":null}",
        "{\"id\":\"aa1\",\"text\":\"t\",\"call\":[]}",
    };
    cleanup_free char *longest =
        mem_format("{\"id\":\"aa1\",\"text\":\"%065536d\",\"by\":\"%0200d\","
                   "\"call\":{\"a\":\"%01048567d\"}}",
                   0, 0, 0);
    cleanup_free char *call_too_long =
        mem_format("{\"id\":\"aa1\",\"text\":\"t\",\"call\":{\"a\":"
                   "\"%01048568d\"}}",
                   0);
    cleanup_free char *too_long =
        mem_format("{\"id\":\"aa1\",\"text\":\"%065537d\"}", 0);
    cleanup_free char *by_too_long =
        mem_format("{\"id\":\"aa1\",\"text\":\"t\",\"by\":\"%0201d\"}", 0);

    for (size_t i = 0; i < sizeof flawed / sizeof *flawed; i++) {
        ask(session_api_on_note, *state, flawed[i]);
        ANSWERS("BadRequest");
    }
    ask(session_api_on_note, *state, too_long);
    ask(session_api_on_note, *state, by_too_long);
    ask(session_api_on_note, *state, call_too_long);
    ANSWERS("BadRequest BadRequest BadRequest");
    SAID("");
    ask(session_api_on_note, *state, longest);
    assert_string_equal(sent("aa1 NOTE"), "");
}

static void a_report_is_an_object_with_a_bound(void **state)
{
    cleanup_free char *too_long =
        mem_format("{\"id\":\"aa1\",\"report\":{\"a\":\"%065536d\"}}", 0);

    ask(session_api_on_revived, *state, "{\"id\":\"aa1\"}");
    ask(session_api_on_revived, *state, "{\"id\":\"aa1\",\"report\":[]}");
    ask(session_api_on_revived, *state, too_long);
    ANSWERS("BadRequest BadRequest BadRequest");
    SAID("");
}

/* --- Revival --- */

static void a_session_that_is_gone_is_revived(void **state)
{
    const registry_parts_t *parts = *state;
    const session_entry_t *entry = session_table_find(parts->table, "gone");

    ask(session_api_on_revive, parts, "{\"id\":\"gone\"}");
    DID("announce gone; hold 99 for gone");
    assert_string_equal(sent("gone REVIVE"), "");
    assert_int_not_equal(entry->create_token, 0);
    assert_false(session_entry_is_gone(entry));
    ask(session_api_on_revive, parts, "{\"id\":\"gone\"}");
    ANSWERS("SessionAlive");
}

/* Its client learned of the end before the registry did. */
static void a_session_that_has_just_ended_is_revived(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.unread_end = "aa1";
    fake_options.capacity.sessions_max = 2;
    ask(session_api_on_revive, parts, "{\"id\":\"aa1\"}");
    ANSWERS("");
    assert_null(rig_outside.unread_end);
    assert_string_equal(sent("aa1 REVIVE"), "");
}

/* A client that has seen its end knows that there is room. */
static void the_end_of_another_session_makes_room_for_a_revival(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.unread_end = "aa1";
    fake_options.capacity.sessions_max = 2;
    ask(session_api_on_revive, parts, "{\"id\":\"gone\"}");
    ANSWERS("");
    assert_string_equal(sent("gone REVIVE"), "");
    /* There is room, so no report is taken. */
    rig_outside.unread_end = "aa2";
    fake_options.capacity.sessions_max = 3;
    rig_leave("old", "memory", false);
    ask(session_api_on_revive, parts, "{\"id\":\"old\"}");
    ANSWERS("");
    assert_non_null(rig_outside.unread_end);
    /* One of which only files are left. */
    rig_leave("older", "memory", false);
    ask(session_api_on_revive, parts, "{\"id\":\"older\"}");
    ANSWERS("");
    assert_null(rig_outside.unread_end);
    rig_leave("oldest", "memory", false);
    ask(session_api_on_revive, parts, "{\"id\":\"oldest\"}");
    ANSWERS("TooManySessions");
}

static void a_revival_has_its_conditions(void **state)
{
    const registry_parts_t *parts = *state;

    ask(session_api_on_revive, parts, "{\"id\":\"aa1\"}");
    ANSWERS("SessionAlive");
    ask(session_api_on_revive, parts, "{\"id\":\"aa\"}");
    ANSWERS("AmbiguousSession");
    ask(session_api_on_revive, parts, "{\"id\":\"zz\"}");
    ask(session_api_on_revive, parts, "{}");
    ANSWERS("UnknownSession UnknownSession");
    session_table_find(parts->table, "gone")->is_external = true;
    ask(session_api_on_revive, parts, "{\"id\":\"gone\"}");
    ANSWERS("SessionNotStarted");
    SAID("");
}

static void a_revival_needs_room(void **state)
{
    registry_parts_t *parts = *state;

    capacity_destroy(&parts->capacity);
    parts->capacity = capacity_new(parts->table, 0, 0, count_none, NULL);
    /* One that has its actor needs no descriptors more. */
    ask(session_api_on_revive, parts, "{\"id\":\"zz\"}");
    ANSWERS("TooManySessions");
    ask(session_api_on_revive, parts, "{\"id\":\"gone\"}");
    ANSWERS("");
    fake_options.capacity.sessions_max = 3;
    fake_add(parts->table, "gone2", FAKE_GONE, 0);
    ask(session_api_on_revive, parts, "{\"id\":\"gone2\"}");
    ANSWERS("TooManySessions");
}

/* --- What a session has when it is gone --- */

static const char *find_any(const registry_parts_t *parts, const char *content)
{
    cleanup_message message_t *request = rig_request("request", content);
    json_auto_t *json = json_loads(content, 0, NULL);
    const session_entry_t *entry = session_api_find_any(parts, json, &request);

    assert_true(!entry == !request);
    return entry ? entry->id : "";
}

static void a_session_that_is_gone_is_found(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = session_table_find(parts->table, "gone");

    assert_string_equal(find_any(parts, "{\"id\":\"gone\"}"), "gone");
    assert_string_equal(find_any(parts, "{\"id\":\"aa1\"}"), "aa1");
    ANSWERS("");
    assert_string_equal(find_any(parts, "{\"id\":\"aa\"}"), "");
    assert_string_equal(find_any(parts, "{\"id\":\"zz\"}"), "");
    assert_string_equal(find_any(parts, "{}"), "");
    ANSWERS("AmbiguousSession UnknownSession UnknownSession");
    /* Its thread is about to end, and waits for what it is asked now. */
    session_table_set_forgotten(parts->table, entry);
    assert_string_equal(find_any(parts, "{\"id\":\"gone\"}"), "gone");
}

static void a_session_with_files_alone_is_found_if_there_is_room(void **state)
{
    registry_parts_t *parts = *state;

    rig_leave("old", "memory", false);
    rig_leave("older", "memory", false);
    assert_string_equal(find_any(parts, "{\"id\":\"old\"}"), "old");
    assert_true(session_entry_is_gone(session_table_find(parts->table, "old")));
    ANSWERS("");
    capacity_destroy(&parts->capacity);
    parts->capacity = capacity_new(parts->table, 0, 0, count_none, NULL);
    assert_string_equal(find_any(parts, "{\"id\":\"older\"}"), "");
    ANSWERS("SessionGone");
}

/* --- Viewers --- */

static void a_viewer_gets_an_endpoint(void **state)
{
    ask(endpoints_api_on_open, *state, "{\"id\":\"aa1\"}");
    DID("open aa1 of python3 for uid=7");
    ask(endpoints_api_on_open, *state, "{\"id\":\"aa2\",\"observe\":true}");
    DID("open aa2 of python3 for uid=7, to observe");
    ask(endpoints_api_on_open, *state, "{\"id\":\"aa\"}");
    ask(endpoints_api_on_open, *state, "{\"id\":\"zz\"}");
    ask(endpoints_api_on_open, *state, "{}");
    ask(endpoints_api_on_open, *state, "{\"id\":\"gone\"}");
    ANSWERS("AmbiguousSession UnknownSession UnknownSession SessionGone");
    DID("");
}

static void an_endpoint_needs_descriptors(void **state)
{
    registry_parts_t *parts = *state;

    capacity_destroy(&parts->capacity);
    parts->capacity = capacity_new(parts->table, 0, 0, count_none, NULL);
    ask(endpoints_api_on_open, parts, "{\"id\":\"aa1\"}");
    ANSWERS("TooManyViewers");
}

static void endpoints_are_listed_and_closed(void **state)
{
    ask(endpoints_api_on_list, *state, "{}");
    ask(endpoints_api_on_close, *state, "{\"viewer\":\"v\"}");
    DID("list endpoints; close v for uid=7");
    ask(endpoints_api_on_close, *state, "{}");
    ANSWERS("BadRequest");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_request_is_a_command),
        TEST(a_reader_is_passed_on),
        TEST(a_restart_that_would_fail_is_refused),
        TEST(a_restart_waits_for_the_packages_of_its_profile),
        TEST(a_gateway_that_stops_restarts_nothing),
        TEST(only_a_show_request_has_a_deadline),
        TEST(a_session_is_found_by_the_beginning_of_its_id),
        TEST(a_session_that_is_kept_answers_later),
        TEST(a_tombstone_is_read_from_its_file),
        TEST(no_client_had_a_member_of_the_pool),
        TEST(a_note_is_a_text_with_bounds),
        TEST(a_report_is_an_object_with_a_bound),
        TEST(a_session_that_is_gone_is_revived),
        TEST(a_session_that_has_just_ended_is_revived),
        TEST(the_end_of_another_session_makes_room_for_a_revival),
        TEST(a_revival_has_its_conditions),
        TEST(a_revival_needs_room),
        TEST(a_session_that_is_gone_is_found),
        TEST(a_session_with_files_alone_is_found_if_there_is_room),
        TEST(a_viewer_gets_an_endpoint),
        TEST(an_endpoint_needs_descriptors),
        TEST(endpoints_are_listed_and_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
