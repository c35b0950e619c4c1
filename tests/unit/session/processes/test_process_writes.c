/* What came under keys is passed on once: what is kept of it, what the journal
 * has, and what the keeper's count says about it. */
#include "gateway/session/processes/process_writes.h"

#include "protocol/jspan.h"
#include "protocol/jspan_write.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static process_write_t *add(process_writes_t *self, const char *key,
                            uint64_t from, uint64_t size)
{
    cleanup_free char *copy = mem_text(key);
    process_write_t write = {
        .key = copy, .digest = "d", .from = from, .size = size};

    return process_writes_add(self, &write);
}

static void the_newest_are_kept(void **state)
{
    cleanup_process_writes process_writes_t writes = {0};
    char key[16];

    (void) state;
    assert_null(process_writes_find(&writes, "0"));
    for (unsigned i = 0; i < PROCESS_WRITES + 2; i++) {
        snprintf(key, sizeof key, "%u", i);
        assert_string_equal(add(&writes, key, i, 1)->key, key);
    }
    assert_int_equal(writes.count, PROCESS_WRITES);
    assert_null(process_writes_find(&writes, "0"));
    assert_null(process_writes_find(&writes, "1"));
    assert_int_equal(process_writes_find(&writes, "2")->from, 2);
    assert_int_equal(process_writes_find(&writes, key)->from,
                     PROCESS_WRITES + 1);
}

static void a_key_has_one_place(void **state)
{
    cleanup_process_writes process_writes_t writes = {0};

    (void) state;
    add(&writes, "a", 1, 1);
    add(&writes, "b", 2, 1);
    add(&writes, "a", 3, 1);
    assert_int_equal(writes.count, 2);
    assert_int_equal(process_writes_find(&writes, "a")->from, 3);
    process_writes_remove(&writes, process_writes_find(&writes, "b"));
    assert_int_equal(writes.count, 1);
    assert_null(process_writes_find(&writes, "b"));
    assert_non_null(process_writes_find(&writes, "a"));
}

static void a_count_says_what_has_come(void **state)
{
    cleanup_process_writes process_writes_t writes = {.is_unsettled = true};

    (void) state;
    add(&writes, "whole", 0, 10);
    add(&writes, "part", 10, 10)->arrived = 2;
    add(&writes, "not", 30, 5);
    process_writes_settle(&writes, 13);
    assert_false(writes.is_unsettled);
    assert_int_equal(process_writes_find(&writes, "whole")->arrived, 10);
    assert_int_equal(process_writes_find(&writes, "part")->arrived, 5);
    assert_int_equal(process_writes_find(&writes, "not")->arrived, 0);
    /* Later counts are of this gateway's own input. */
    process_writes_settle(&writes, 100);
    assert_int_equal(process_writes_find(&writes, "not")->arrived, 0);
}

static void the_journal_has_all_of_it(void **state)
{
    cleanup_process_writes process_writes_t writes = {0}, again = {0};
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    process_write_t *write = add(&writes, "k", 3, 9);
    jspan_t object;
    fault_t fault;

    (void) state;
    write->arrived = 4;
    write->output = 77;
    jspan_write_begin(&text);
    process_write_members(write, &text);
    jspan_write_end(&text);
    assert_int_equal(jspan_check(text.data, text.size, &object, &fault), 0);
    process_writes_recall(&again, object);
    write = process_writes_find(&again, "k");
    assert_non_null(write);
    assert_string_equal(write->digest, "d");
    assert_int_equal(write->from, 3);
    assert_int_equal(write->size, 9);
    assert_int_equal(write->arrived, 4);
    assert_int_equal(write->output, 77);
}

/* It has come whole. */
static void a_write_that_is_settled_is_kept(void **state)
{
    static const char text[] = "{\"key\":\"k\",\"digest\":\"d\",\"size\":2,"
                               "\"arrived\":2,\"from\":-5,\"output\":\"7\"}";
    cleanup_process_writes process_writes_t writes = {0};
    const process_write_t *write;
    jspan_t object;
    fault_t fault;

    (void) state;
    assert_int_equal(jspan_check(text, strlen(text), &object, &fault), 0);
    process_writes_recall(&writes, object);
    write = process_writes_find(&writes, "k");
    assert_non_null(write);
    assert_int_equal(write->size, 2);
    assert_int_equal(write->arrived, 2);
    assert_int_equal(write->from, 0);
    assert_int_equal(write->output, 0);
}

static void what_is_no_write_is_not_kept(void **state)
{
    static const char *const rows[] = {
        "{}",
        "{\"end\":true}",
        "{\"key\":\"k\"}",
        "{\"key\":1,\"digest\":\"d\"}",
        "{\"key\":\"k\",\"digest\":\"d\",\"size\":1,\"arrived\":2}",
    };
    cleanup_process_writes process_writes_t writes = {0};
    jspan_t object;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(jspan_check(rows[i], strlen(rows[i]), &object, &fault),
                         0);
        process_writes_recall(&writes, object);
        assert_int_equal(writes.count, 0);
    }
}

static void a_digest_is_of_bytes_and_end(void **state)
{
    char one[PROCESS_DIGEST_SIZE], other[PROCESS_DIGEST_SIZE];

    (void) state;
    process_writes_digest(text_bytes("a"), false, one);
    assert_int_equal(strlen(one), PROCESS_DIGEST_SIZE - 1);
    process_writes_digest(text_bytes("a"), false, other);
    assert_string_equal(one, other);
    process_writes_digest(text_bytes("a"), true, other);
    assert_string_not_equal(one, other);
    process_writes_digest(text_bytes("b"), false, other);
    assert_string_not_equal(one, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_are_kept),
        cmocka_unit_test(a_key_has_one_place),
        cmocka_unit_test(a_count_says_what_has_come),
        cmocka_unit_test(the_journal_has_all_of_it),
        cmocka_unit_test(a_write_that_is_settled_is_kept),
        cmocka_unit_test(what_is_no_write_is_not_kept),
        cmocka_unit_test(a_digest_is_of_bytes_and_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
