/* Notes of the gateway in a session's notebook. The sessions are records. */
#include "gateway/registry/downloads/session_note.h"

#include "gateway/audit/audit.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

static void add(session_table_t *table, const char *who, bool is_revival)
{
    const registry_parts_t parts = {.table = table};
    json_auto_t *result = json_pack("{s:s}", "path", "a.csv");
    const session_note_t note = {
        .session = "aa1",
        .who = who,
        .text = "fetched a.csv",
        .name = "fetch",
        .arguments = json_pack("{s:s}", "url", "u"),
        .result = result,
        .is_revival = is_revival,
    };

    session_note_add(&parts, &note);
    assert_int_equal(result->refcount, 1);
}

static void a_clients_request_is_kept_for_a_replay(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);

    (void) state;
    (void) fake_add(table, "aa1", FAKE_FRESH, 0);
    add(table, "uid=7", false);
    assert_string_equal(fake_said(), "aa1 NOTE");
    assert_string_equal(fake_noted(),
                        "{\"text\":\"fetched a.csv\",\"by\":\"hearth\","
                        "\"call\":{\"name\":\"fetch\",\"arguments\":{\"url\":"
                        "\"u\"},\"result\":{\"path\":\"a.csv\"},\"revival\":"
                        "false}}");
    add(table, "uid=7", true);
    assert_non_null(strstr(fake_noted(), "\"revival\":true"));
}

/* It has a record of its own. */
static void a_call_of_code_is_noted_as_text(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);

    (void) state;
    (void) fake_add(table, "aa1", FAKE_FRESH, 0);
    add(table, AUDIT_KERNEL, false);
    assert_string_equal(fake_said(), "aa1 NOTE");
    assert_string_equal(fake_noted(),
                        "{\"text\":\"fetched a.csv\",\"by\":\"hearth\"}");
}

static void a_session_without_a_thread_gets_no_note(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *entry;

    (void) state;
    add(table, "uid=7", false);
    assert_string_equal(fake_said(), "");
    entry = fake_add(table, "aa1", FAKE_FRESH, 0);
    session_table_set_drained(table, entry);
    add(table, "uid=7", false);
    assert_string_equal(fake_said(), "");
    session_table_set_gone(table, entry, 0);
    add(table, "uid=7", false);
    assert_string_equal(fake_said(), "aa1 NOTE");
    session_table_set_forgotten(table, entry);
    add(table, "uid=7", false);
    assert_string_equal(fake_said(), "aa1 NOTE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_clients_request_is_kept_for_a_replay,
                               fake_begin),
        cmocka_unit_test_setup(a_call_of_code_is_noted_as_text, fake_begin),
        cmocka_unit_test_setup(a_session_without_a_thread_gets_no_note,
                               fake_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
