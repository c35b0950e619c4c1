/* Jobs with the packages of a session that ends, or that is gone already: it
 * can be asked for its packages and lose some. Workers are records. */
#include "gateway/registry/downloads/packages_jobs.h"

#include "gateway/registry/main/session_events.h"
#include "tests/lib/download_fakes.h"
#include "tests/lib/test.h"

#define DID(text)      assert_string_equal(deeds_take(), text)
#define ANSWERED(text) assert_string_equal(rig_answers(), text)

static void the_session_ends(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    download_fakes_ask("bb2", "add", "b");
    download_fakes_ask("aa1", "add", "c");
    download_fakes_ask("aa1", "list", "");
    deeds_forget();
    packages_jobs_on_gone(download_fakes.jobs, "aa1");
    ANSWERED("SessionGone SessionGone SessionGone");
    packages_jobs_on_gone(download_fakes.jobs, "aa1");
    ANSWERED("");
    deeds_forget();
    /* The worker may still change something until it has ended. */
    download_fakes_leave(0);
    DID("destroy a; start b");
    download_fakes_finish(2);
    ANSWERED("ok");
}

/* A job that was answered is left to end. */
static void the_session_ends_after_the_answer(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    download_fakes_answer(0, "{\"status\":\"ok\"}");
    ANSWERED("ok");
    packages_jobs_on_gone(download_fakes.jobs, "aa1");
    ANSWERED("");
    download_fakes_leave(0);
}

/* One of them may be why its kernels end. */
static void a_session_that_is_gone_can_only_lose_some(void **state)
{
    session_table_t *table = download_fakes.parts->table;
    session_entry_t *entry = session_table_find(table, "aa1");

    (void) state;
    entry->sees_packages = false; /* no kernel does */
    session_table_set_gone(table, entry, 0);
    assert_false(packages_jobs_changes(download_fakes.jobs, "aa1"));
    download_fakes_ask("aa1", "remove", "a");
    assert_true(packages_jobs_changes(download_fakes.jobs, "aa1"));
    assert_true(packages_jobs_has(download_fakes.jobs, "aa1"));
    assert_false(packages_jobs_changes(download_fakes.jobs, "aa2"));
    assert_false(packages_jobs_has(download_fakes.jobs, "aa2"));
    download_fakes_answer(0, "{\"status\":\"ok\",\"removed\":[{\"name\":\"a\","
                             "\"version\":\"3\"}]}");
    ANSWERED("ok");
    assert_string_equal(fake_said(), "aa1 NOTE");
    assert_false(packages_jobs_changes(download_fakes.jobs, "aa1"));
    assert_false(packages_jobs_has(download_fakes.jobs, "aa1"));
    download_fakes_leave(0);
    download_fakes_ask("aa1", "list", "");
    assert_false(packages_jobs_changes(download_fakes.jobs, "aa1"));
    assert_true(packages_jobs_has(download_fakes.jobs, "aa1"));
    download_fakes_finish(1);
    assert_false(packages_jobs_has(download_fakes.jobs, "aa1"));
    ANSWERED("ok");
    download_fakes_ask("aa1", "add", "a");
    ANSWERED("UnknownSession");
}

static void a_session_with_files_alone_lists_and_loses_some(void **state)
{
    (void) state;
    rig_leave("old", "memory", false);
    rig_leave("older", "memory", false);
    download_fakes_ask("old", "list", "");
    download_fakes_finish(0);
    download_fakes_ask("older", "remove", "a");
    download_fakes_finish(1);
    ANSWERED("ok ok");
    rig_leave("oldest", "memory", false);
    download_fakes_ask("oldest", "add", "a");
    ANSWERED("SessionGone");
}

/* --- Those whose tombstone expires --- */

/* The session reports that it can be removed. */
static void expire(const char *id)
{
    session_report_t *report = session_report_new(SESSION_REMOVED, 0);

    session_events_take(download_fakes.parts,
                        session_table_find(download_fakes.parts->table, id),
                        &report);
}

static bool is_there(const char *id)
{
    return session_table_find(download_fakes.parts->table, id) != NULL;
}

static void a_session_is_kept_until_its_packages_are_changed(void **state)
{
    (void) state;
    rig_leave("old", "memory", false);
    download_fakes_ask("old", "remove", "a");
    download_fakes_ask("old", "list", "");
    expire("old");
    ANSWERED("");
    assert_string_equal(fake_said(), "");
    download_fakes_answer(0, "{\"status\":\"ok\",\"removed\":[{\"name\":\"a\","
                             "\"version\":\"3\"}]}");
    ANSWERED("ok");
    /* Its list has no answer yet. */
    assert_string_equal(fake_said(), "old NOTE; old FORGET");
    expire("old");
    assert_true(is_there("old"));
    download_fakes_leave(0);
    download_fakes_finish(1);
    ANSWERED("ok");
    assert_string_equal(fake_said(), "old FORGET");
    expire("old");
    assert_false(is_there("old"));
}

/* It is not answered as one that is there no more. */
static void a_session_that_gives_up_its_ports_is_asked_and_kept(void **state)
{
    session_table_t *table = download_fakes.parts->table;
    session_entry_t *entry = session_table_find(table, "aa1");

    (void) state;
    session_table_set_gone(table, entry, 0);
    session_table_set_forgotten(table, entry);
    download_fakes_ask("aa1", "remove", "a");
    expire("aa1");
    download_fakes_answer(0, "{\"status\":\"ok\",\"removed\":[{\"name\":\"a\","
                             "\"version\":\"3\"}]}");
    assert_string_equal(fake_said(), "aa1 NOTE; aa1 FORGET");
    ANSWERED("ok");
    expire("aa1");
    assert_false(is_there("aa1"));
    download_fakes_leave(0);
}

/* The question alone changes nothing. */
static void a_session_that_has_not_expired_keeps_its_tombstone(void **state)
{
    session_table_t *table = download_fakes.parts->table;
    session_entry_t *entry = session_table_find(table, "aa1");

    (void) state;
    session_table_set_gone(table, entry, 0);
    download_fakes_ask("aa1", "list", "");
    download_fakes_ask("bb2", "list", "");
    assert_true(packages_jobs_has(download_fakes.jobs, "aa1"));
    download_fakes_finish(0);
    assert_string_equal(fake_said(), "");
    /* The job of another session keeps none. */
    expire("aa1");
    assert_false(is_there("aa1"));
    download_fakes_finish(1);
    assert_string_equal(fake_said(), "");
}

static void a_revival_ends_what_has_expired(void **state)
{
    session_table_t *table = download_fakes.parts->table;
    session_entry_t *entry = session_table_find(table, "aa1");

    (void) state;
    session_table_set_gone(table, entry, 0);
    download_fakes_ask("aa1", "list", "");
    expire("aa1");
    session_table_revive(table, entry);
    download_fakes_finish(0);
    assert_string_equal(fake_said(), "");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, download_fakes_begin,                \
                                    download_fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_session_ends),
        TEST(the_session_ends_after_the_answer),
        TEST(a_session_that_is_gone_can_only_lose_some),
        TEST(a_session_with_files_alone_lists_and_loses_some),
        TEST(a_session_is_kept_until_its_packages_are_changed),
        TEST(a_session_that_gives_up_its_ports_is_asked_and_kept),
        TEST(a_session_that_has_not_expired_keeps_its_tombstone),
        TEST(a_revival_ends_what_has_expired),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
