/* Requests of a process that answers host tools: which members each kind needs,
 * and what the session gets of them; what commands carry, and when a session
 * takes none. Sessions are records. */
#include "gateway/registry/sessions/session_api.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/session/lifecycle/spec.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <string.h>

#define SAID(text)    assert_string_equal(fake_said(), text)
#define ANSWERS(text) assert_string_equal(rig_answers(), text)

/* Members that all kinds of requests know. */
#define PROVIDER "\"provider\":\"p\""
#define PLACE    "\"place\":\"l\""
#define TEXT     "\"text\":\"[]\""

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

/* Asks aa1 by a request of that kind with these members. */
static void ask_tools(const registry_parts_t *parts, const char *kind,
                      const char *members)
{
    cleanup_free char *content =
        mem_format("{\"id\":\"aa1\",\"order\":\"%s\"%s%s}", kind,
                   *members ? "," : "", members);

    ask(session_api_on_tools, parts, content);
}

static int begin(void **state)
{
    const registry_parts_t *parts;

    if (rig_begin(state) < 0)
        return -1;
    parts = *state;
    fake_add(parts->table, "aa1", FAKE_TAKEN, 0);
    fake_add(parts->table, "gone", FAKE_GONE, 0);
    return 0;
}

/* --- Host tools --- */

static void each_kind_of_request_reaches_the_session(void **state)
{
    static const struct {
        const char *kind, *members, *got;
    } requests[] = {
        {"register", PROVIDER "," TEXT, "register p at -: []"},
        {"remove", PROVIDER, "remove p at -: -"},
        {"list", "", "list - at -: -"},
        {"take", PROVIDER "," PLACE, "take p at l: -"},
        {"leave", PROVIDER "," PLACE, "leave p at l: -"},
        {"answer", TEXT, "answer - at -: []"},
        {"fail", TEXT, "fail - at -: []"},
        {"record", TEXT, "record - at -: []"},
    };

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        cleanup_free char *got =
            mem_format("%s (number 0, 0 ms) for uid=7", requests[i].got);
        cleanup_free char *said = mem_format("aa1 TOOLS %zu", i + 1);

        ask_tools(*state, requests[i].kind, requests[i].members);
        SAID(said);
        assert_string_equal(fake_tools(), got);
    }
    ANSWERS("");
}

static void a_request_lacks_what_its_kind_needs(void **state)
{
    static const struct {
        const char *kind, *members, *lacks;
    } requests[] = {
        {"register", TEXT, "`provider` must be"},
        {"register", "\"provider\":7," TEXT, "`provider` must be"},
        {"register", "\"provider\":\"a b\"," TEXT, "`provider` must be"},
        {"register", PROVIDER, "`text` is missing"},
        {"remove", "", "`provider` must be"},
        {"take", PLACE, "`provider` must be"},
        {"take", PROVIDER, "`place` must be"},
        {"take", PROVIDER ",\"place\":\"\"", "`place` must be"},
        {"leave", PLACE, "`provider` must be"},
        {"leave", PROVIDER, "`place` must be"},
        {"leave", PROVIDER ",\"place\":\"a b\"", "`place` must be"},
        {"answer", "", "`text` is missing"},
        {"fail", "\"text\":7", "`text` is missing"},
        {"record", PROVIDER "," PLACE, "`text` is missing"},
        {"shut", PROVIDER "," PLACE "," TEXT, "`order` must be register"},
    };

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const char *answered;

        ask_tools(*state, requests[i].kind, requests[i].members);
        answered = fake_answered();
        assert_non_null(strstr(answered, "\"ename\":\"BadRequest\""));
        assert_non_null(strstr(answered, requests[i].lacks));
    }
    ask(session_api_on_tools, *state, "{\"id\":\"aa1\"}");
    ask(session_api_on_tools, *state, "{\"id\":\"aa1\",\"order\":7}");
    ANSWERS("BadRequest BadRequest");
    SAID("");
}

static void a_process_waits_for_calls_for_at_most_a_minute(void **state)
{
    static const char *const wrong[] = {"-1", "60001"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *members =
            mem_format(PROVIDER "," PLACE ",\"wait_ms\":%s", wrong[i]);

        ask_tools(*state, "take", members);
        assert_non_null(strstr(fake_answered(), "`wait_ms` must be 0 to"));
    }
    SAID("");
    ask_tools(*state, "take",
              PROVIDER "," PLACE ",\"wait_ms\":60000,\"number\":5");
    assert_string_equal(fake_tools(),
                        "take p at l: - (number 5, 60000 ms) for uid=7");
    ask_tools(*state, "leave", PROVIDER "," PLACE ",\"over\":true");
    assert_string_equal(fake_tools(),
                        "leave p at l: - (number 0, 0 ms, over) for uid=7");
    ANSWERS("");
}

static void tools_of_a_session_that_is_not_there(void **state)
{
    ask(session_api_on_tools, *state, "{\"id\":\"zz\",\"order\":\"list\"}");
    ANSWERS("UnknownSession");
    SAID("");
}

/* --- What commands carry --- */

static void an_interrupt_is_of_one_request_or_of_what_runs(void **state)
{
    ask(session_api_on_interrupt, *state, "{\"id\":\"aa1\"}");
    assert_string_equal(fake_interrupt(), "interrupt");
    ask(session_api_on_interrupt, *state,
        "{\"id\":\"aa1\",\"kill\":true,\"msg_id\":\"m\"}");
    assert_string_equal(fake_interrupt(), "kill m");
    ask(session_api_on_interrupt, *state,
        "{\"id\":\"aa1\",\"kill\":false,\"msg_id\":7}");
    assert_string_equal(fake_interrupt(), "interrupt");
}

/* A fresh kernel is started with the folder of packages that the profile has
 * now; the one that runs has none. */
static void only_a_restart_shows_packages_to_the_kernel(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = session_table_find(parts->table, "aa1");

    snprintf(entry->packages, sizeof entry->packages, "t");
    ask(session_api_on_keepalive, parts, "{\"id\":\"aa1\"}");
    ask(session_api_on_show, parts, "{\"id\":\"aa1\"}");
    assert_false(entry->sees_packages);
    ask(session_api_on_restart, parts, "{\"id\":\"aa1\"}");
    assert_true(entry->sees_packages);
}

static void a_note_has_an_author_of_at_most_200_bytes(void **state)
{
    cleanup_free char *fits =
        mem_format("{\"id\":\"aa1\",\"text\":\"t\",\"by\":\"%0200d\"}", 0);

    ask(session_api_on_note, *state, fits);
    SAID("aa1 NOTE 1");
    assert_non_null(strstr(fake_noted(), "\"by\":\"0000"));
    ask(session_api_on_note, *state,
        "{\"id\":\"aa1\",\"text\":\"t\",\"call\":{\"name\":\"n\"}}");
    assert_string_equal(fake_noted(),
                        "{\"text\":\"t\",\"call\":{\"name\":\"n\"}}");
    ANSWERS("");
}

/* The limit is on bytes of JSON: {"a":""} has eight. */
static void a_report_of_64_kib_is_taken(void **state)
{
    cleanup_free char *longest =
        mem_format("{\"id\":\"aa1\",\"report\":{\"a\":\"%065528d\"}}", 0);
    cleanup_free char *too_long =
        mem_format("{\"id\":\"aa1\",\"report\":{\"a\":\"%065529d\"}}", 0);

    ask(session_api_on_revived, *state, longest);
    SAID("aa1 REVIVED 1");
    ask(session_api_on_revived, *state, too_long);
    SAID("");
    ANSWERS("BadRequest");
}

/* --- Sessions that take no commands --- */

/* For parts that ask for the session itself. */
static void only_a_session_that_is_alive_is_found(void **state)
{
    const registry_parts_t *parts = *state;
    static const char *const ids[] = {"aa1", "gone", "zz"};
    static const char *const answers[] = {"GatewayStopping", "UnknownSession",
                                          "UnknownSession"};
    json_auto_t *there = json_loads("{\"id\":\"aa1\"}", 0, NULL);
    cleanup_message message_t *asked = rig_request("request", "{}");
    session_entry_t *entry = session_table_find(parts->table, "aa1");

    assert_ptr_equal(session_api_find(parts, there, &asked), entry);
    assert_non_null(asked); /* it is not answered */
    session_table_set_drained(parts->table, entry);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        json_auto_t *content = json_pack("{s:s}", "id", ids[i]);
        message_t *request = rig_request("request", "{}");

        assert_null(session_api_find(parts, content, &request));
        assert_null(request);
        ANSWERS(answers[i]);
    }
}

static void a_gone_session_of_a_gateway_that_stops(void **state)
{
    const registry_parts_t *parts = *state;

    session_table_close(parts->table);
    ask(session_api_on_restart, parts, "{\"id\":\"gone\"}");
    SAID("gone RESTART 1"); /* says why it is gone */
    ask(session_api_on_restart, parts, "{\"id\":\"zz\"}");
    ANSWERS("UnknownSession");
    ask(session_api_on_revive, parts, "{\"id\":\"gone\"}");
    ANSWERS("GatewayStopping");
    SAID("");
}

/* The file of a session that has no actor any more, and no ports. */
static void leave(const char *id)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    fault_t fault;

    snprintf(spec->id, sizeof spec->id, "%s", id);
    snprintf(spec->end.reason, sizeof spec->end.reason, "memory");
    spec->profile = &fake_profile;
    spec->name = mem_text("its name");
    spec->state_folder = session_state_folder(rig_outside.folder, id);
    spec->runtime_folder = mem_text("/run/x");
    spec->workspace = mem_text("/w");
    spec->connection_file = mem_text("/no/such/file");
    assert_int_equal(path_make_folders(spec->state_folder, 0700, &fault), 0);
    assert_int_equal(session_spec_write(spec, &fault), 0);
}

static void a_session_of_files_alone_is_revived(void **state)
{
    leave("old");
    ask(session_api_on_revive, *state, "{\"id\":\"old\"}");
    SAID("old REVIVE");
    ANSWERS("");
}

static void a_revival_that_is_refused_is_counted(void **state)
{
    fake_options.capacity.sessions_max = 1;
    ask(session_api_on_revive, *state, "{\"id\":\"gone\"}");
    assert_non_null(strstr(fake_answered(), "sessions/sessions_max permits"));
    assert_int_equal(rig_count_limit("sessions"), 1);
    fake_options.capacity.sessions_max = 2;
    ask(session_api_on_revive, *state, "{\"id\":\"gone\"}");
    ANSWERS("");
    assert_int_equal(rig_count_limit("sessions"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_kind_of_request_reaches_the_session),
        TEST(a_request_lacks_what_its_kind_needs),
        TEST(a_process_waits_for_calls_for_at_most_a_minute),
        TEST(tools_of_a_session_that_is_not_there),
        TEST(an_interrupt_is_of_one_request_or_of_what_runs),
        TEST(only_a_restart_shows_packages_to_the_kernel),
        TEST(a_note_has_an_author_of_at_most_200_bytes),
        TEST(a_report_of_64_kib_is_taken),
        TEST(only_a_session_that_is_alive_is_found),
        TEST(a_gone_session_of_a_gateway_that_stops),
        TEST(a_session_of_files_alone_is_revived),
        TEST(a_revival_that_is_refused_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
