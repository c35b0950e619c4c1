/* Followers learn of each session that comes and goes, once. Sessions and
 * followers are records. */
#include "gateway/registry/core/session_feed.h"

#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

typedef struct {
    session_table_t *table;
    session_feed_t *feed;
} rig_t;

static rig_t make(void)
{
    rig_t rig = {.table = session_table_new(NULL)};

    rig.feed = session_feed_new(NULL, rig.table);
    return rig;
}

static void clear(rig_t *rig)
{
    session_feed_destroy(&rig->feed);
    session_table_destroy(&rig->table);
}

static void follow(const rig_t *rig, int number)
{
    message_t *request = fake_request(number);

    session_feed_follow(rig->feed, &request);
    assert_null(request);
}

static void begins_with_the_existing_sessions(void **state)
{
    rig_t rig = make();

    (void) state;
    fake_add(rig.table, "a", FAKE_TAKEN, 0);
    fake_add(rig.table, "p", FAKE_POOLED, 0);
    fake_add(rig.table, "g", FAKE_GONE, 0);
    follow(&rig, 1);
    assert_string_equal(fake_answered(),
                        "1 {\"gone\":[],\"status\":\"ok\",\"there\":[\"a\"]}");
    clear(&rig);
}

static void reports_each_change_once(void **state)
{
    rig_t rig = make();
    session_entry_t *entry = fake_add(rig.table, "a", FAKE_POOLED, 0);

    (void) state;
    follow(&rig, 1);
    follow(&rig, 2);
    (void) fake_answered();
    session_feed_report(rig.feed, entry);
    assert_string_equal(fake_answered(), "");
    session_table_own(rig.table, entry, 1);
    session_feed_report(rig.feed, entry);
    session_feed_report(rig.feed, entry);
    assert_string_equal(fake_answered(),
                        "1 {\"status\":\"ok\",\"there\":[\"a\"]}; "
                        "2 {\"status\":\"ok\",\"there\":[\"a\"]}");
    session_table_set_gone(rig.table, entry, 0);
    session_feed_report(rig.feed, entry);
    session_feed_report(rig.feed, entry);
    assert_string_equal(fake_answered(),
                        "1 {\"gone\":[\"a\"],\"status\":\"ok\"}; "
                        "2 {\"gone\":[\"a\"],\"status\":\"ok\"}");
    clear(&rig);
}

static void refuses_followers_beyond_the_limit(void **state)
{
    rig_t rig = make();

    (void) state;
    for (int i = 1; i <= SESSION_FEED_MAX; i++)
        follow(&rig, i);
    assert_null(strstr(fake_answered(), "TooManyFollowers"));
    follow(&rig, 9);
    assert_string_equal(
        fake_answered(),
        "9 {\"ename\":\"TooManyFollowers\",\"evalue\":\"8 "
        "follow already\",\"exit_code\":1,\"status\":\"error\"}");
    session_feed_report(rig.feed, fake_add(rig.table, "a", FAKE_TAKEN, 0));
    assert_null(strstr(fake_answered(), "9 "));
    clear(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(begins_with_the_existing_sessions, fake_begin),
        cmocka_unit_test_setup(reports_each_change_once, fake_begin),
        cmocka_unit_test_setup(refuses_followers_beyond_the_limit, fake_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
