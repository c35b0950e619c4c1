/* A request for a session: out of the pool, by a fork, after waiting, or with a
 * refusal that says why. */
#include "gateway/registry/sessions/create.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/registry/core/create_queue.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/stats.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define SAID(text)    assert_string_equal(fake_said(), text)
#define ANSWERS(text) assert_string_equal(rig_answers(), text)

static void ask_for(const registry_parts_t *parts, const char *content)
{
    message_t *request = rig_request("session_create_request", content);
    json_auto_t *json = json_loads(content, 0, NULL);

    create_make(parts->create, json, &request);
    assert_null(request);
}

static void ask(const registry_parts_t *parts)
{
    ask_for(parts, "{}");
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

static uint64_t count_limit(const registry_parts_t *parts, const char *name)
{
    json_auto_t *model = stats_describe(parts->stats);

    return (uint64_t) json_integer_value(
        json_object_get(json_object_get(model, "limits"), name));
}

static void a_session_is_forked(void **state)
{
    const registry_parts_t *parts = *state;

    ask(parts);
    DID("start s1 for uid=7; launch s1");
    ANSWERS("");
    assert_int_not_equal(session_table_find(parts->table, "s1")->create_token,
                         0);
}

static void a_session_that_cannot_be_made_is_an_error(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.cannot_start = true;
    ask(parts);
    DID("");
    ANSWERS("SessionNotStarted");
}

static void a_member_of_the_pool_is_handed_out(void **state)
{
    const registry_parts_t *parts = *state;
    const session_entry_t *member = add_member(parts, "p1");

    ask_for(parts, "{\"name\":\"mine\"}");
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
    ask(parts);
    DID("start s1 for uid=7; launch s1");
}

static void a_name_that_is_no_text_is_not_taken_over(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *member = add_member(parts, "p1");

    session_table_rename(member, "before");
    ask_for(parts, "{\"name\":7}");
    assert_string_equal(member->name, "before");
}

/* A member has its folder, ports, environment and limits already. */
static void some_requests_fit_no_pool_member(void **state)
{
    static const char *const wishes[] = {
        "{\"workspace\":\"/w\"}",  "{\"connection_file\":\"/c\"}",
        "{\"transport\":\"tcp\"}", "{\"environment\":{\"A\":\"1\"}}",
        "{\"limits\":{}}",
    };
    const registry_parts_t *parts = *state;

    fake_options.starts_max = 10;
    add_member(parts, "p1");
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        ask_for(parts, wishes[i]);
        assert_non_null(strstr(deeds_take(), "launch"));
    }
    SAID("");
    ask_for(parts, "{\"environment\":{}}"); /* nothing to be set */
    DID("");
    assert_non_null(strstr(fake_said(), "p1 HAND"));
}

static void invalid_requests_are_refused_by_the_fork(void **state)
{
    const registry_parts_t *parts = *state;

    add_member(parts, "p1");
    ask_for(parts, "{\"restart\":\"perhaps\"}");
    SAID("");
    DID("start s1 for uid=7; launch s1");
}

/* Refuses those that wait, too: what they got would end at once. */
static void a_gateway_that_stops_makes_no_sessions(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.starts_max = 1;
    ask_for(parts, "{}");
    ask_for(parts, "{}");
    assert_int_equal(create_waiting(parts->create), 1);
    session_table_close(parts->table);
    create_stop(parts->create);
    assert_int_equal(create_waiting(parts->create), 0);
    ANSWERS("GatewayStopping");
    ask_for(parts, "{}");
    ANSWERS("GatewayStopping");
}

static void a_missing_profile_is_refused_by_the_fork(void **state)
{
    const registry_parts_t *parts = *state;

    add_member(parts, "p1");
    ask_for(parts, "{\"profile\":\"other\"}");
    SAID("");
    DID("start s1 for uid=7; launch s1");
}

/* --- The queue --- */

static void few_sessions_start_at_a_time(void **state)
{
    const registry_parts_t *parts = *state;

    ask(parts);
    ask(parts);
    ask(parts);
    ask(parts);
    DID("start s1 for uid=7; launch s1; start s2 for uid=7; launch s2");
    assert_int_equal(create_waiting(parts->create), 2);
    ANSWERS("");
    create_count_start(parts->create, 3000);
    ask(parts);
    ANSWERS("GatewayBusy");
    assert_int_equal(count_limit(parts, STATS_STARTS), 1);
    assert_int_equal(create_waiting(parts->create), 2);
}

static void a_refusal_says_when_to_try_again(void **state)
{
    const registry_parts_t *parts = *state;

    create_count_start(parts->create, 3000);
    create_count_start(parts->create, 13000); /* 4 s on the average */
    for (int i = 0; i < 5; i++)
        ask(parts);
    assert_non_null(strstr(fake_answered(), "\"retry_after\":5"));
}

static void waiting_creations_are_served_in_order(void **state)
{
    const registry_parts_t *parts = *state;

    for (int i = 0; i < 4; i++)
        ask(parts);
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
        ask(parts);
    session_table_set_ready(parts->table,
                            session_table_find(parts->table, "s1"));
    add_member(parts, "p1");
    (void) deeds_take();
    ask(parts);
    DID("");
    SAID("");
    assert_int_equal(create_waiting(parts->create), 2);
}

static void a_member_is_handed_out_while_others_start(void **state)
{
    const registry_parts_t *parts = *state;

    ask(parts);
    ask(parts);
    add_member(parts, "p1");
    ask(parts);
    assert_non_null(strstr(fake_said(), "p1 HAND"));
    assert_int_equal(create_waiting(parts->create), 0);
}

/* --- Connection files of older sessions --- */

#define PORTS(first)                                                           \
    "{\"transport\":\"tcp\",\"ip\":\"127.0.0.1\",\"key\":\"k\","               \
    "\"shell_port\":" first "1,\"iopub_port\":" first                          \
    "2,\"stdin_port\":" first "3,\"control_port\":" first                      \
    "4,\"hb_port\":" first "5}"

/* Writes such a file into the state folder; returns its path, for the caller to
 * free. */
static char *write_file(const char *name, const char *text)
{
    char *path = mem_format("%s/%s", rig_outside.folder, name);
    fault_t fault;

    assert_int_equal(file_write_atomic(path, 0600, text, strlen(text), &fault),
                     0);
    return path;
}

/* Adds a session that was made with that file. */
static session_entry_t *add_external(const registry_parts_t *parts,
                                     const char *id, const char *path)
{
    session_entry_t *entry =
        fake_add(parts->table, id, FAKE_TAKEN, rig_outside.now_ms);
    fault_t fault;

    entry->is_external = true;
    entry->connection_file = mem_text(path);
    assert_int_equal(connection_file_read(path, &entry->connection, &fault), 0);
    secret_destroy(&entry->connection.secret);
    return entry;
}

static void ask_with(const registry_parts_t *parts, const char *path)
{
    cleanup_free char *content =
        mem_format("{\"connection_file\":\"%s\"}", path);

    ask_for(parts, content);
}

static void an_older_session_of_the_same_ports_ends_first(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *old = write_file("old.json", PORTS("700"));
    cleanup_free char *new = write_file("new.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", old);

    ask_with(parts, new);
    SAID("old END");
    DID("");
    assert_int_equal(create_waiting(parts->create), 1);
    /* It is gone, and has its ports yet. */
    session_table_set_gone(parts->table, entry, rig_outside.now_ms);
    create_next(parts->create);
    DID("");
    session_table_remove(parts->table, &entry);
    create_next(parts->create);
    DID("start s1 for uid=7; launch s1");
    assert_int_equal(create_waiting(parts->create), 0);
    ANSWERS("");
}

static void an_older_session_of_the_same_file_ends_first(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));

    add_external(parts, "old", path);
    free(write_file("c.json", PORTS("800")));
    ask_with(parts, path);
    SAID("old END");
    DID("");
}

static void a_session_of_the_same_key_goes_on(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *old = write_file("old.json", PORTS("700"));
    cleanup_free char *new = write_file("new.json", PORTS("800"));

    add_external(parts, "old", old);
    ask_with(parts, new);
    SAID("");
    DID("start s1 for uid=7; launch s1");
}

static void a_file_that_is_wrong_waits_for_nothing(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));

    add_external(parts, "old", path);
    free(write_file("c.json", "{}"));
    ask_with(parts, path);
    SAID("");
    DID("start s1 for uid=7; launch s1");
}

/* Each request replaces what the one before it has got. */
static void the_last_of_two_requests_with_one_file_is_served(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    ask_with(parts, path);
    ask_with(parts, path);
    (void) fake_said();
    session_table_remove(parts->table, &entry);
    create_next(parts->create);
    DID("start s1 for uid=7; launch s1");
    assert_int_equal(create_waiting(parts->create), 1);
    SAID("s1 END");
}

static void others_start_while_an_older_session_ends(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    ask_with(parts, path);
    for (int i = 0; i < 3; i++)
        ask(parts);
    DID("start s1 for uid=7; launch s1; start s2 for uid=7; launch s2");
    session_table_remove(parts->table, &entry);
    session_table_set_ready(parts->table,
                            session_table_find(parts->table, "s1"));
    /* It came before the other one that waits. */
    create_next(parts->create);
    DID("start s3 for uid=7; launch s3");
    assert_int_equal(create_waiting(parts->create), 1);
    assert_non_null(strstr(fake_said(), "old END"));
}

static void a_gateway_that_stops_replaces_nothing(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    fake_options.starts_max = 0;
    ask_with(parts, path);
    ask(parts);
    session_table_close(parts->table);
    create_stop(parts->create);
    ANSWERS("GatewayStopping GatewayStopping");
    session_table_remove(parts->table, &entry);
    create_next(parts->create);
    DID("");
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

    fake_options.sessions_max = 1;
    ask(parts);
    add_member(parts, "p1");
    ask(parts);
    ANSWERS("TooManySessions");
    assert_int_equal(count_limit(parts, STATS_SESSIONS), 1);
}

static void waiting_creations_count_as_sessions(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.sessions_max = 3;
    for (int i = 0; i < 4; i++)
        ask(parts);
    ANSWERS("TooManySessions");
    assert_int_equal(create_waiting(parts->create), 1);
}

/* It takes the place of the older session, also when that has ended. */
static void a_replacement_counts_as_one_session(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    fake_options.sessions_max = 2;
    ask_with(parts, path);
    ask(parts);
    DID("start s1 for uid=7; launch s1");
    ask(parts);
    ANSWERS("TooManySessions");
    session_table_set_gone(parts->table, entry, rig_outside.now_ms);
    ask(parts);
    ANSWERS("TooManySessions");
    session_table_remove(parts->table, &entry);
    create_next(parts->create);
    DID("start s2 for uid=7; launch s2");
    ANSWERS("");
}

/* The first request that replaces a session needs no room in it. */
static void the_queue_has_one_limit(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *first = write_file("1.json", PORTS("700"));
    cleanup_free char *second = write_file("2.json", PORTS("800"));
    cleanup_free char *third = write_file("3.json", PORTS("900"));

    add_external(parts, "a", first);
    add_external(parts, "b", second);
    add_external(parts, "c", third);
    ask_with(parts, first);
    ask_with(parts, second);
    ask_with(parts, third);
    SAID("a END; b END; c END");
    ANSWERS("");
    assert_int_equal(create_waiting(parts->create), 3);
    ask_with(parts, third);
    SAID("");
    ANSWERS("GatewayBusy");
    assert_int_equal(count_limit(parts, STATS_STARTS), 1);
    ask(parts);
    ask(parts);
    ANSWERS("");
    ask(parts);
    ANSWERS("GatewayBusy");
    assert_int_equal(create_waiting(parts->create), 3);
}

static void without_a_queue_a_session_is_still_replaced(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    fake_options.starts_queue = 0;
    ask_with(parts, path);
    SAID("old END");
    session_table_set_gone(parts->table, entry, rig_outside.now_ms);
    session_table_remove(parts->table, &entry);
    create_next(parts->create);
    DID("start s1 for uid=7; launch s1");
    ANSWERS("");
}

/* Also after a request has been taken out of its middle or from its end. */
static void the_queue_keeps_its_order(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_create_queue create_queue_t *queue = create_queue_new(parts->table);
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);
    static const int64_t order[] = {1, 3, 4, 2};

    for (int64_t i = 1; i <= 3; i++) {
        message_t *request = rig_request("session_create_request", "{}");

        create_queue_add(queue, &request, i == 2 ? entry : NULL, i);
    }
    assert_int_equal(create_queue_sessions(queue), 2);
    for (size_t i = 0; i < 4; i++) {
        json_auto_t *content = NULL;
        int64_t asked_us = 0;
        message_t *request = create_queue_next(queue, &content, &asked_us);

        assert_non_null(request);
        assert_int_equal(asked_us, order[i]);
        message_destroy(&request);
        if (i == 1) { /* only the one that waits for an end is left */
            request = rig_request("session_create_request", "{}");
            assert_false(create_queue_has_line(queue));
            create_queue_add(queue, &request, NULL, 4);
            assert_true(create_queue_has_line(queue));
        }
        if (i == 2)
            session_table_remove(parts->table, &entry);
    }
    assert_int_equal(create_queue_size(queue), 0);
    assert_int_equal(create_queue_sessions(queue), 0);
}

static void no_more_sessions_than_descriptors_permit(void **state)
{
    registry_parts_t *parts = *state;

    capacity_destroy(&parts->capacity);
    parts->capacity = capacity_new(parts->table, 0, 0, count_none, NULL);
    ask(parts);
    ANSWERS("TooManySessions");
    assert_int_equal(count_limit(parts, STATS_SESSIONS), 1);
    /* A member has its descriptors. */
    add_member(parts, "p1");
    ask(parts);
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
    ask(parts);
    (void) deeds_take();
    pool_refill(parts->pool, rig_outside.now_ms);
    DID("");
    session_table_set_ready(parts->table,
                            session_table_find(parts->table, "s1"));
    rig_outside.cannot_start = true;
    pool_refill(parts->pool, rig_outside.now_ms);
    assert_null(strstr(deeds_take(), "launch"));
}

static size_t count_arrivals(const registry_parts_t *parts)
{
    json_auto_t *model =
        pool_describe(parts->pool, &fake_profile, rig_outside.now_ms);

    return (size_t) json_integer_value(json_object_get(model, "target"));
}

static void a_request_arrives_once(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    fake_profile.pool.max = 10;
    ask_with(parts, path);
    assert_int_equal(count_arrivals(parts), 1);
    session_table_remove(parts->table, &entry);
    create_next(parts->create);
    DID("start s1 for uid=7; launch s1");
    assert_int_equal(count_arrivals(parts), 1);
    {
        message_t *request = rig_request("session_create_request", "{}");
        json_auto_t *content = json_object();

        create_again(parts->create, content, &request);
    }
    DID("start s2 for uid=7; launch s2");
    assert_int_equal(count_arrivals(parts), 1);
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
        TEST(invalid_requests_are_refused_by_the_fork),
        TEST(a_gateway_that_stops_makes_no_sessions),
        TEST(a_missing_profile_is_refused_by_the_fork),
        TEST(few_sessions_start_at_a_time),
        TEST(a_refusal_says_when_to_try_again),
        TEST(waiting_creations_are_served_in_order),
        TEST(no_creation_overtakes_a_waiting_one),
        TEST(a_member_is_handed_out_while_others_start),
        TEST(an_older_session_of_the_same_ports_ends_first),
        TEST(an_older_session_of_the_same_file_ends_first),
        TEST(a_session_of_the_same_key_goes_on),
        TEST(a_file_that_is_wrong_waits_for_nothing),
        TEST(the_last_of_two_requests_with_one_file_is_served),
        TEST(others_start_while_an_older_session_ends),
        TEST(a_gateway_that_stops_replaces_nothing),
        TEST(no_more_sessions_than_permitted),
        TEST(waiting_creations_count_as_sessions),
        TEST(a_replacement_counts_as_one_session),
        TEST(without_a_queue_a_session_is_still_replaced),
        TEST(the_queue_keeps_its_order),
        TEST(the_queue_has_one_limit),
        TEST(no_more_sessions_than_descriptors_permit),
        TEST(a_request_arrives_once),
        TEST(the_pool_gets_its_members),
        TEST(the_pool_waits_for_clients_and_its_zygote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
