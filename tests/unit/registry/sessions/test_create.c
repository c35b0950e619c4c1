/* A request for a session: out of the pool, by a fork, after waiting, or with
 * a refusal that says why. The pool and the table are real, zygotes and
 * sessions are records. */
#include "gateway/registry/sessions/create.h"

#include "base/buffer.h"
#include "gateway/registry/core/stats.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define SAID(text)    assert_string_equal(fake_said(), text)
#define ANSWERS(text) assert_string_equal(rig_answers(), text)

static void ask(void)
{
    rig_create("{}");
}

static session_entry_t *add_member(const registry_parts_t *parts,
                                   const char *id)
{
    session_entry_t *entry =
        fake_add(parts->table, id, FAKE_POOLED, rig_outside.now_ms);

    pool_join(parts->pool, entry);
    session_table_set_ready(parts->table, entry);
    return entry;
}

static void a_session_is_forked(void **state)
{
    const registry_parts_t *parts = *state;

    ask();
    DID("start s1 for uid=7; launch s1");
    ANSWERS("");
    assert_int_not_equal(session_table_find(parts->table, "s1")->create_token,
                         0);
}

static void a_session_that_cannot_be_made_is_an_error(void **state)
{
    (void) state;
    rig_outside.cannot_start = true;
    ask();
    DID("");
    ANSWERS("SessionNotStarted");
}

static void a_member_of_the_pool_is_handed_out(void **state)
{
    const registry_parts_t *parts = *state;
    const session_entry_t *member = add_member(parts, "p1");

    rig_create("{\"name\":\"mine\"}");
    DID("");
    assert_non_null(strstr(fake_said(), "p1 HAND "));
    assert_false(member->is_pooled);
    assert_int_not_equal(member->hand_token, 0);
    assert_string_equal(member->name, "mine");
    assert_null(pool_find(parts->pool, &fake_profile));
    {
        json_auto_t *model =
            pool_describe(parts->pool, &fake_profile, rig_outside.now_ms);

        assert_int_equal(
            json_integer_value(json_object_get(model, "handed_out")), 1);
    }
    /* The next one finds no member. */
    ask();
    DID("start s1 for uid=7; launch s1");
}

static void a_name_that_is_no_text_is_not_taken_over(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *member = add_member(parts, "p1");

    session_table_rename(member, "before");
    rig_create("{\"name\":7}");
    assert_string_equal(member->name, "before");
}

/* A member has its folder, ports, environment and limits already. */
static void some_requests_fit_no_pool_member(void **state)
{
    static const char *const wishes[] = {
        "{\"workspace\":\"/w\"}",
        "{\"connection_file\":\"/c\"}",
        "{\"transport\":\"tcp\"}",
        "{\"environment\":{\"A\":\"1\"}}",
        "{\"limits\":{}}",
        "{\"packages\":{\"cells\":false}}",
        "{\"packages\":{\"deny\":\"torch\"}}",
        "{\"packages\":{\"denny\":\"x\"}}",
    };
    const registry_parts_t *parts = *state;

    fake_options.capacity.starts_max = 10;
    fake_profile.packages.serves_cells = 1;
    add_member(parts, "p1");
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        rig_create(wishes[i]);
        assert_non_null(strstr(deeds_take(), "launch"));
    }
    SAID("");
    rig_create("{\"environment\":{}}"); /* nothing to be set */
    DID("");
    assert_non_null(strstr(fake_said(), "p1 HAND"));
    fake_profile.packages.serves_cells = 0;
}

/* The kernel need not know of them. */
static void a_member_takes_rules_for_downloads(void **state)
{
    const registry_parts_t *parts = *state;
    const session_entry_t *member = add_member(parts, "p1");

    rig_create("{\"packages\":{\"cooldown\":\"900d\"}}");
    DID("");
    assert_non_null(strstr(fake_said(), "p1 HAND"));
    assert_non_null(json_object_get(member->rules.own_packages, "cooldown"));
}

static void invalid_requests_are_refused_by_the_fork(void **state)
{
    const registry_parts_t *parts = *state;

    add_member(parts, "p1");
    rig_create("{\"restart\":\"perhaps\"}");
    SAID("");
    DID("start s1 for uid=7; launch s1");
}

/* Refuses those that wait, too: what they got would end at once. */
static void a_gateway_that_stops_makes_no_sessions(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.capacity.starts_max = 1;
    rig_create("{}");
    rig_create("{}");
    assert_int_equal(create_waiting(parts->create), 1);
    session_table_close(parts->table);
    create_stop(parts->create);
    assert_int_equal(create_waiting(parts->create), 0);
    ANSWERS("GatewayStopping");
    rig_create("{}");
    ANSWERS("GatewayStopping");
}

static void a_missing_profile_is_refused_by_the_fork(void **state)
{
    const registry_parts_t *parts = *state;

    add_member(parts, "p1");
    rig_create("{\"profile\":\"other\"}");
    SAID("");
    DID("start s1 for uid=7; launch s1");
}

/* --- The queue --- */

static void few_sessions_start_at_a_time(void **state)
{
    const registry_parts_t *parts = *state;

    ask();
    ask();
    ask();
    ask();
    DID("start s1 for uid=7; launch s1; start s2 for uid=7; launch s2");
    assert_int_equal(create_waiting(parts->create), 2);
    ANSWERS("");
    create_count_start(parts->create, 3000);
    ask();
    ANSWERS("GatewayBusy");
    assert_int_equal(rig_count_limit(STATS_STARTS), 1);
    assert_int_equal(create_waiting(parts->create), 2);
}

static void a_refusal_says_when_to_try_again(void **state)
{
    const registry_parts_t *parts = *state;

    create_count_start(parts->create, 3000);
    create_count_start(parts->create, 13000); /* 4 s on the average */
    for (int i = 0; i < 5; i++)
        ask();
    assert_non_null(strstr(fake_answered(), "\"retry_after\":5"));
}

static void waiting_creations_are_served_in_order(void **state)
{
    const registry_parts_t *parts = *state;

    for (int i = 0; i < 4; i++)
        ask();
    (void) deeds_take();
    create_next(parts->create);
    DID("");
    session_table_set_ready(parts->table,
                            session_table_find(parts->table, "s1"));
    create_next(parts->create);
    DID("start s3 for uid=7; launch s3");
    assert_int_equal(create_waiting(parts->create), 1);
    session_table_set_ready(parts->table,
                            session_table_find(parts->table, "s2"));
    session_table_close(parts->table);
    create_next(parts->create);
    DID("");
}

static void no_creation_overtakes_a_waiting_one(void **state)
{
    const registry_parts_t *parts = *state;

    for (int i = 0; i < 3; i++)
        ask();
    session_table_set_ready(parts->table,
                            session_table_find(parts->table, "s1"));
    add_member(parts, "p1");
    (void) deeds_take();
    ask();
    DID("");
    SAID("");
    assert_int_equal(create_waiting(parts->create), 2);
}

static void a_member_is_handed_out_while_others_start(void **state)
{
    const registry_parts_t *parts = *state;

    ask();
    ask();
    add_member(parts, "p1");
    ask();
    assert_non_null(strstr(fake_said(), "p1 HAND"));
    assert_int_equal(create_waiting(parts->create), 0);
}

/* --- Limits --- */

static size_t count_none(void *arg)
{
    (void) arg;
    return 0;
}

static void no_more_sessions_than_permitted(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.capacity.sessions_max = 1;
    ask();
    add_member(parts, "p1");
    ask();
    ANSWERS("TooManySessions");
    assert_int_equal(rig_count_limit(STATS_SESSIONS), 1);
}

/* A client that has seen its end knows that there is room. */
static void an_end_that_is_not_read_yet_makes_room(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.capacity.sessions_max = 2;
    fake_add(parts->table, "aa1", FAKE_TAKEN, 0);
    rig_outside.unread_end = "aa1";
    ask();
    DID("start s1 for uid=7; launch s1");
    assert_non_null(rig_outside.unread_end);
    ask();
    DID("start s2 for uid=7; launch s2");
    assert_null(rig_outside.unread_end);
    ANSWERS("");
    ask();
    ANSWERS("TooManySessions");
}

/* Reports are not taken among themselves: they may make sessions. */
static void a_report_that_makes_a_session_takes_no_others(void **state)
{
    const registry_parts_t *parts = *state;
    message_t *request = rig_request("session_create_request", "{}");
    json_auto_t *content = json_object();

    fake_options.capacity.sessions_max = 1;
    fake_add(parts->table, "aa1", FAKE_TAKEN, 0);
    rig_outside.unread_end = "aa1";
    create_again(parts->create, content, &request);
    ANSWERS("TooManySessions");
    assert_non_null(rig_outside.unread_end);
}

static void waiting_creations_count_as_sessions(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.capacity.sessions_max = 3;
    for (int i = 0; i < 4; i++)
        ask();
    ANSWERS("TooManySessions");
    assert_int_equal(create_waiting(parts->create), 1);
}

static void no_more_sessions_than_descriptors_permit(void **state)
{
    registry_parts_t *parts = *state;

    capacity_destroy(&parts->capacity);
    parts->capacity = capacity_new(parts->table, 0, 0, count_none, NULL);
    fake_add(parts->table, "aa1", FAKE_TAKEN, 0);
    rig_outside.unread_end = "aa1";
    ask();
    ANSWERS("TooManySessions");
    assert_null(rig_outside.unread_end); /* it might have left its own */
    assert_int_equal(rig_count_limit(STATS_SESSIONS), 1);
    /* A member has its descriptors. */
    add_member(parts, "p1");
    ask();
    assert_non_null(strstr(fake_said(), "p1 HAND"));
}

/* --- The pool --- */

static void the_pool_gets_its_members(void **state)
{
    const registry_parts_t *parts = *state;

    fake_profile.pool = (profile_pool_t){.min = 1, .max = 1};
    pool_refill(parts->pool, rig_outside.now_ms);
    DID("prealloc; start s1 for the pool; launch s1");
    assert_non_null(session_table_find_any(parts->table, "s1"));
    pool_refill(parts->pool, rig_outside.now_ms);
    assert_null(strstr(deeds_take(), "start"));
}

static void the_pool_waits_for_clients_and_its_zygote(void **state)
{
    const registry_parts_t *parts = *state;

    fake_profile.pool = (profile_pool_t){.min = 1, .max = 1};
    rig_outside.is_zygote_ready = false;
    pool_refill(parts->pool, rig_outside.now_ms);
    assert_null(strstr(deeds_take(), "start"));
    rig_outside.is_zygote_ready = true;
    ask();
    (void) deeds_take();
    pool_refill(parts->pool, rig_outside.now_ms);
    DID("");
    session_table_set_ready(parts->table,
                            session_table_find(parts->table, "s1"));
    rig_outside.cannot_start = true;
    pool_refill(parts->pool, rig_outside.now_ms);
    assert_null(strstr(deeds_take(), "launch"));
}

static const char *const wrong[] = {
    "{\"packages\":{\"denny\":\"x\"}}",
    "{\"limits\":{\"memory\":-1}}",
    "{\"restart\":\"perhaps\"}",
    "{\"environment\":{\"LD_PRELOAD\":\"x\"}}",
    "{\"tools\":7}",
    "{\"profile\":\"other\"}",
    "{\"workspace\":\"/missing/one\"}",
    "{\"transport\":\"udp\"}",
    "{\"connection_file\":\"/missing/one\"}",
};

static void what_is_wrong_waits_for_no_packages(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.preparing = &fake_profile;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (strstr(wrong[i], "profile"))
            continue; /* it has nothing to wait for */
        rig_create(wrong[i]);
        ANSWERS("SessionNotStarted");
    }
    assert_int_equal(create_waiting(parts->create), 0);
    DID("");
}

static void what_is_wrong_waits_for_no_turn(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.capacity.starts_max = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rig_create(wrong[i]);
        ANSWERS("SessionNotStarted");
    }
    assert_int_equal(create_waiting(parts->create), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_forked),
        TEST(a_session_that_cannot_be_made_is_an_error),
        TEST(a_member_of_the_pool_is_handed_out),
        TEST(a_name_that_is_no_text_is_not_taken_over),
        TEST(some_requests_fit_no_pool_member),
        TEST(a_member_takes_rules_for_downloads),
        TEST(invalid_requests_are_refused_by_the_fork),
        TEST(a_gateway_that_stops_makes_no_sessions),
        TEST(a_missing_profile_is_refused_by_the_fork),
        TEST(few_sessions_start_at_a_time),
        TEST(a_refusal_says_when_to_try_again),
        TEST(waiting_creations_are_served_in_order),
        TEST(no_creation_overtakes_a_waiting_one),
        TEST(a_member_is_handed_out_while_others_start),
        TEST(no_more_sessions_than_permitted),
        TEST(an_end_that_is_not_read_yet_makes_room),
        TEST(a_report_that_makes_a_session_takes_no_others),
        TEST(waiting_creations_count_as_sessions),
        TEST(no_more_sessions_than_descriptors_permit),
        TEST(the_pool_gets_its_members),
        TEST(the_pool_waits_for_clients_and_its_zygote),
        TEST(what_is_wrong_waits_for_no_packages),
        TEST(what_is_wrong_waits_for_no_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
