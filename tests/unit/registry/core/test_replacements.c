/* A request for a session that names the connection file of an older one: the
 * older session ends first, and the request waits for that in the queue.
 * Sessions and zygotes are records. */
#include "gateway/registry/sessions/create.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/registry/core/create_queue.h"
#include "gateway/registry/core/stats.h"
#include "gateway/registry/launch/pool.h"
#include "gateway/registry/sessions/package_wait.h"
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

static void ask_with(const char *path)
{
    cleanup_free char *content =
        mem_format("{\"connection_file\":\"%s\"}", path);

    rig_create(content);
}

static void an_older_session_of_the_same_ports_ends_first(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *old = write_file("old.json", PORTS("700"));
    cleanup_free char *new = write_file("new.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", old);

    ask_with(new);
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
    ask_with(path);
    SAID("old END");
    DID("");
}

static void an_older_session_goes_on_if_the_new_one_is_refused(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));

    add_external(parts, "old", path);
    rig_outside.lacks_packages = "packages/preinstall: no";
    ask_with(path);
    SAID("");
    ANSWERS("SessionNotStarted");
    rig_outside.lacks_packages = NULL;
    {
        cleanup_free char *content = mem_format(
            "{\"connection_file\":\"%s\",\"restart\":\"perhaps\"}", path);

        rig_create(content);
    }
    SAID("");
    ANSWERS("SessionNotStarted");
    DID("");
}

static void an_older_session_goes_on_while_packages_are_made(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    rig_outside.preparing = &fake_profile;
    ask_with(path);
    ask_with(path);
    SAID("");
    rig_outside.preparing = NULL;
    rig_outside.lacks_packages = "packages/preinstall: no";
    package_wait_go_on(parts->package_wait, &fake_profile);
    SAID("");
    ANSWERS("SessionNotStarted SessionNotStarted");
    rig_outside.lacks_packages = NULL;
    rig_outside.preparing = &fake_profile;
    ask_with(path);
    rig_outside.preparing = NULL;
    package_wait_go_on(parts->package_wait, &fake_profile);
    SAID("old END");
    DID("");
    session_table_remove(parts->table, &entry);
    create_next(parts->create);
    DID("start s1 for uid=7; launch s1");
}

static void a_session_of_the_same_key_goes_on(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *old = write_file("old.json", PORTS("700"));
    cleanup_free char *new = write_file("new.json", PORTS("800"));

    add_external(parts, "old", old);
    ask_with(new);
    SAID("");
    DID("start s1 for uid=7; launch s1");
}

static void a_file_that_is_wrong_waits_for_nothing(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));

    add_external(parts, "old", path);
    free(write_file("c.json", "{}"));
    ask_with(path);
    SAID("");
    DID("start s1 for uid=7; launch s1");
}

/* Each request replaces what the one before it has got. */
static void the_last_of_two_requests_with_one_file_is_served(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    ask_with(path);
    ask_with(path);
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

    ask_with(path);
    for (int i = 0; i < 3; i++)
        ask();
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

    fake_options.capacity.starts_max = 0;
    ask_with(path);
    ask();
    session_table_close(parts->table);
    create_stop(parts->create);
    ANSWERS("GatewayStopping GatewayStopping");
    session_table_remove(parts->table, &entry);
    create_next(parts->create);
    DID("");
    assert_int_equal(create_waiting(parts->create), 0);
}

/* It takes the place of the older session, also when that has ended. */
static void a_replacement_counts_as_one_session(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    fake_options.capacity.sessions_max = 2;
    ask_with(path);
    ask();
    DID("start s1 for uid=7; launch s1");
    ask();
    ANSWERS("TooManySessions");
    session_table_set_gone(parts->table, entry, rig_outside.now_ms);
    ask();
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
    ask_with(first);
    ask_with(second);
    ask_with(third);
    SAID("a END; b END; c END");
    ANSWERS("");
    assert_int_equal(create_waiting(parts->create), 3);
    ask_with(third);
    SAID("");
    ANSWERS("GatewayBusy");
    assert_int_equal(rig_count_limit(STATS_STARTS), 1);
    ask();
    ask();
    ANSWERS("");
    ask();
    ANSWERS("GatewayBusy");
    assert_int_equal(create_waiting(parts->create), 3);
}

static void without_a_queue_a_session_is_still_replaced(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *path = write_file("c.json", PORTS("700"));
    session_entry_t *entry = add_external(parts, "old", path);

    fake_options.capacity.starts_queue = 0;
    ask_with(path);
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
    json_auto_t *empty = json_object();
    static const int64_t order[] = {1, 3, 4, 2};

    for (int64_t i = 1; i <= 3; i++) {
        message_t *request = rig_request("session_create_request", "{}");

        create_queue_add(queue, empty, &request, i == 2 ? entry : NULL, i);
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
            create_queue_add(queue, empty, &request, NULL, 4);
            assert_true(create_queue_has_line(queue));
        }
        if (i == 2)
            session_table_remove(parts->table, &entry);
    }
    assert_int_equal(create_queue_size(queue), 0);
    assert_int_equal(create_queue_sessions(queue), 0);
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
    ask_with(path);
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
        TEST(an_older_session_of_the_same_ports_ends_first),
        TEST(an_older_session_of_the_same_file_ends_first),
        TEST(an_older_session_goes_on_if_the_new_one_is_refused),
        TEST(an_older_session_goes_on_while_packages_are_made),
        TEST(a_session_of_the_same_key_goes_on),
        TEST(a_file_that_is_wrong_waits_for_nothing),
        TEST(the_last_of_two_requests_with_one_file_is_served),
        TEST(others_start_while_an_older_session_ends),
        TEST(a_gateway_that_stops_replaces_nothing),
        TEST(a_replacement_counts_as_one_session),
        TEST(without_a_queue_a_session_is_still_replaced),
        TEST(the_queue_keeps_its_order),
        TEST(the_queue_has_one_limit),
        TEST(a_request_arrives_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
