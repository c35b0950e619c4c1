/* The table knows its sessions by id and by prefix, and counts them by state.
 * The sessions are records. */
#include "gateway/registry/core/session_table.h"

#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

static void assert_counts(const session_table_t *table, size_t count,
                          size_t alive, size_t gone, size_t starting)
{
    assert_int_equal(session_table_count(table), count);
    assert_int_equal(session_table_alive(table), alive);
    assert_int_equal(session_table_gone(table), gone);
    assert_int_equal(session_table_starting(table), starting);
}

static void finds_a_session_by_its_id(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *one = fake_add(table, "a1", FAKE_FRESH, 5);

    (void) state;
    fake_add(table, "b2", FAKE_FRESH, 6);
    assert_ptr_equal(session_table_find(table, "a1"), one);
    assert_null(session_table_find(table, "a"));
    assert_int_equal(one->started_ms, 5);
    assert_string_equal(one->workspace, "/state/a1/workspace");
}

static void hides_members_of_the_pool(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *one = fake_add(table, "a1", FAKE_POOLED, 0);
    bool is_ambiguous = true;

    (void) state;
    assert_null(session_table_find(table, "a1"));
    assert_null(session_table_find_prefix(table, "a", &is_ambiguous));
    assert_false(is_ambiguous);
    assert_ptr_equal(session_table_find_any(table, "a1"), one);
    session_table_own(table, one, 7);
    assert_int_equal(one->hand_token, 7);
    assert_ptr_equal(session_table_find(table, "a1"), one);
}

static void finds_the_only_session_that_begins_so(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *one = fake_add(table, "a1", FAKE_FRESH, 0);
    session_entry_t *other = fake_add(table, "a2", FAKE_FRESH, 0);
    bool is_ambiguous;

    (void) state;
    fake_add(table, "a1b", FAKE_POOLED, 0);
    assert_ptr_equal(session_table_find_prefix(table, "a2", &is_ambiguous),
                     other);
    assert_ptr_equal(session_table_find_prefix(table, "a1", &is_ambiguous),
                     one);
    assert_false(is_ambiguous);
    assert_null(session_table_find_prefix(table, "a", &is_ambiguous));
    assert_true(is_ambiguous);
    assert_null(session_table_find_prefix(table, "", &is_ambiguous));
    assert_false(is_ambiguous);
    assert_null(session_table_find_prefix(table, "c", &is_ambiguous));
}

static void iterates_over_all_sessions(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *one = fake_add(table, "a1", FAKE_FRESH, 0);
    session_entry_t *two = fake_add(table, "b2", FAKE_FRESH, 0);
    session_entry_t *three = fake_add(table, "c3", FAKE_FRESH, 0);

    (void) state;
    session_table_remove(table, &two);
    assert_null(two);
    assert_ptr_equal(session_table_first(table), three);
    assert_ptr_equal(session_table_next(three), one);
    assert_null(session_table_next(one));
    session_table_remove(table, &three);
    assert_ptr_equal(session_table_first(table), one);
    session_table_remove(table, &one);
    assert_null(session_table_first(table));
    assert_counts(table, 0, 0, 0, 0);
}

static void counts_a_start_until_it_is_ready(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *entry = fake_add(table, "a1", FAKE_FRESH, 0);

    (void) state;
    assert_int_equal(entry->state, SESSION_ENTRY_STARTING);
    assert_counts(table, 1, 1, 0, 1);
    session_table_set_ready(table, entry);
    assert_int_equal(entry->state, SESSION_ENTRY_READY);
    assert_counts(table, 1, 1, 0, 0);
    session_table_set_waiting(table, entry);
    assert_int_equal(entry->state, SESSION_ENTRY_WAITING);
    assert_counts(table, 1, 1, 0, 0);
    session_table_set_drained(table, entry);
    assert_int_equal(entry->state, SESSION_ENTRY_DRAINED);
    assert_counts(table, 1, 1, 0, 0);
    assert_false(session_entry_is_gone(entry));
}

static void counts_no_start_for_a_session_that_was_taken_over(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);

    (void) state;
    fake_add(table, "a1", FAKE_TAKEN, 0);
    assert_counts(table, 1, 1, 0, 0);
}

/* Returns true if a kernel that was shown the one folder sees the profile's. */
static bool sees(const char *was_shown, const char *shown)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    cleanup_free char *folder = mem_text(shown);
    session_entry_t *entry = NULL;
    fault_t fault;
    bool is_seen;

    fake_profile.packages.shown = folder;
    spec->profile = &fake_profile;
    spec->packages.shown = mem_text(was_shown);
    assert_int_equal(session_table_add(table, &spec, false, 0, &entry, &fault),
                     0);
    is_seen = entry->sees_packages;
    fake_profile.packages.shown = NULL;
    return is_seen;
}

static void knows_which_packages_a_kernel_sees(void **state)
{
    (void) state;
    assert_true(sees("/p", "/p"));
    assert_false(sees(NULL, "/p"));
    assert_false(sees("/p", NULL));
    assert_false(sees("/p", "/q"));
    assert_false(sees(NULL, NULL));
}

static void counts_gone_sessions_until_they_are_forgotten(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *entry = fake_add(table, "a1", FAKE_FRESH, 0);
    session_entry_t *old = fake_add(table, "b2", FAKE_GONE, 3);

    (void) state;
    assert_int_equal(old->gone_ms, 3);
    assert_counts(table, 2, 1, 1, 1);
    assert_true(session_table_set_gone(table, entry, 9));
    assert_int_equal(entry->gone_ms, 9);
    assert_true(session_entry_is_gone(entry));
    assert_counts(table, 2, 0, 2, 0);
    assert_false(session_table_set_gone(table, entry, 12));
    assert_int_equal(entry->gone_ms, 9);
    session_table_set_forgotten(table, entry);
    assert_true(session_entry_is_gone(entry));
    assert_counts(table, 2, 0, 1, 0);
    assert_false(session_table_set_gone(table, entry, 12));
    session_table_revive(table, entry);
    assert_int_equal(entry->state, SESSION_ENTRY_WAITING);
    assert_counts(table, 2, 1, 1, 0);
}

static void counts_a_member_when_it_has_an_owner(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *entry = fake_add(table, "a1", FAKE_POOLED, 0);

    (void) state;
    assert_counts(table, 1, 0, 0, 1);
    session_table_set_ready(table, entry);
    session_table_own(table, entry, 1);
    assert_counts(table, 1, 1, 0, 0);
    session_table_disown(table, entry);
    assert_true(entry->is_pooled);
    assert_counts(table, 1, 0, 0, 0);
}

static void adds_nothing_without_a_thread(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);

    (void) state;
    fake_refuse_threads();
    assert_null(fake_add(table, "a1", FAKE_FRESH, 0));
    assert_null(session_table_find_any(table, "a1"));
    assert_counts(table, 0, 0, 0, 0);
}

static void destroy_accepts_null(void **state)
{
    session_table_t *none = NULL;
    session_entry_t *entry = NULL;

    (void) state;
    session_table_destroy(&none);
    session_entry_destroy(&entry);
    assert_null(none);
}

static void is_closed_once_for_all(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);

    (void) state;
    assert_false(session_table_is_closing(table));
    session_table_close(table);
    assert_true(session_table_is_closing(table));
}

static void finds_a_session_by_its_name(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    session_entry_t *one = fake_add(table, "a1", FAKE_FRESH, 0);
    session_entry_t *two = fake_add(table, "b2", FAKE_FRESH, 0);
    session_entry_t *waiting = fake_add(table, "c3", FAKE_POOLED, 0);
    bool is_ambiguous = true;

    (void) state;
    session_table_rename(one, "births");
    session_table_rename(two, "a");
    session_table_rename(waiting, "spare");
    assert_ptr_equal(session_table_find_prefix(table, "births", &is_ambiguous),
                     one);
    assert_false(is_ambiguous);
    assert_null(session_table_find_prefix(table, "birth", &is_ambiguous));
    assert_null(session_table_find_prefix(table, "spare", &is_ambiguous));
    /* The beginning of an id comes before a name. */
    assert_ptr_equal(session_table_find_prefix(table, "a", &is_ambiguous), one);
    session_table_rename(two, "births");
    assert_null(session_table_find_prefix(table, "births", &is_ambiguous));
    assert_true(is_ambiguous);
    json_auto_t *error = session_table_ambiguous(table, "births");
    const char *text = json_string_value(json_object_get(error, "evalue"));
    assert_non_null(strstr(text, "a1"));
    assert_non_null(strstr(text, "b2"));
}

static void says_what_is_wrong_with_an_id(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    json_auto_t *unknown = session_table_unknown("x");
    json_auto_t *none = session_table_unknown(NULL);
    json_auto_t *ambiguous = session_table_ambiguous(table, "x");

    (void) state;
    assert_string_equal(
        json_string_value(json_object_get(unknown, "evalue")),
        "there is no session x; `hearth session list` shows the sessions");
    assert_string_equal(json_string_value(json_object_get(none, "evalue")),
                        "there is no session without an id; `hearth session "
                        "list` shows the sessions");
    assert_string_equal(json_string_value(json_object_get(ambiguous, "ename")),
                        "AmbiguousSession");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_a_session_by_its_id, fake_begin),
        cmocka_unit_test_setup(hides_members_of_the_pool, fake_begin),
        cmocka_unit_test_setup(finds_the_only_session_that_begins_so,
                               fake_begin),
        cmocka_unit_test_setup(iterates_over_all_sessions, fake_begin),
        cmocka_unit_test_setup(counts_a_start_until_it_is_ready, fake_begin),
        cmocka_unit_test_setup(
            counts_no_start_for_a_session_that_was_taken_over, fake_begin),
        cmocka_unit_test_setup(knows_which_packages_a_kernel_sees, fake_begin),
        cmocka_unit_test_setup(counts_gone_sessions_until_they_are_forgotten,
                               fake_begin),
        cmocka_unit_test_setup(counts_a_member_when_it_has_an_owner,
                               fake_begin),
        cmocka_unit_test_setup(adds_nothing_without_a_thread, fake_begin),
        cmocka_unit_test_setup(destroy_accepts_null, fake_begin),
        cmocka_unit_test_setup(is_closed_once_for_all, fake_begin),
        cmocka_unit_test_setup(finds_a_session_by_its_name, fake_begin),
        cmocka_unit_test_setup(says_what_is_wrong_with_an_id, fake_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
