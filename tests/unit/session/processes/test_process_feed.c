#include "gateway/session/processes/process_feed.h"
#include "tests/lib/test.h"

#include "base/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static request_t *client(const char *name)
{
    cleanup_message message_t *message = message_new(
        text_bytes(
            "{\"msg_id\":\"1\",\"msg_type\":\"process_attach_request\"}"),
        (bytes_t){0}, (bytes_t){0}, (bytes_t){0});
    fault_t fault;

    assert_int_equal(message_check(message, &fault), 0);
    message_add_identity(message, name, strlen(name));
    return request_new(1, CHANNEL_CONTROL, &message);
}

static void attach(process_feed_t *feed, const char *name, uint64_t from)
{
    request_t *request = client(name);
    fault_t fault;

    assert_int_equal(process_feed_attach(feed, &request, from, 0, &fault), 0);
}

static void add(process_feed_t *feed, uint64_t offset, const char *text,
                size_t expected)
{
    size_t fresh;
    fault_t fault;

    assert_int_equal(
        process_feed_add(feed, offset, 1, text_bytes(text), &fresh, &fault), 0);
    assert_int_equal(fresh, expected);
}

static void skips_what_it_has_and_refuses_a_hole(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    size_t fresh;
    fault_t fault;

    (void) state;
    add(feed, 100, "abc", 3);
    add(feed, 100, "abc", 0);
    add(feed, 101, "bcde", 2);
    assert_int_equal(process_feed_begin(feed), 100);
    assert_int_equal(process_feed_end(feed), 105);
    assert_int_equal(
        process_feed_add(feed, 106, 1, text_bytes("x"), &fresh, &fault),
        -EPROTO);
}

static void a_client_gets_what_it_asks_for_once(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    process_piece_t piece;
    request_t *done;

    (void) state;
    add(feed, 0, "abcdef", 6);
    attach(feed, "a", 2);
    assert_true(process_feed_is_full(feed));
    assert_true(process_feed_next(feed, &piece));
    assert_int_equal(piece.offset, 2);
    assert_memory_equal(piece.bytes.bytes, "cdef", 4);
    assert_false(process_feed_next(feed, &piece));
    assert_false(process_feed_is_full(feed));
    /* It follows anew, from the start. */
    attach(feed, "a", 0);
    assert_true(process_feed_next(feed, &piece));
    assert_int_equal(piece.bytes.size, 6);
    done = process_feed_finish(feed);
    assert_non_null(done);
    request_destroy(&done);
    assert_false(process_feed_has_viewers(feed));
}

static void a_slow_client_holds_it_until_it_takes(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    cleanup_request request_t *slow = client("slow");
    static char bytes[16 * 1024 + 1];
    process_piece_t piece;
    uint64_t offset = 0;

    (void) state;
    memset(bytes, 'x', sizeof bytes - 1);
    attach(feed, "slow", 0);
    attach(feed, "quick", 0);
    while (!process_feed_is_full(feed)) {
        cleanup_request request_t *quick = client("quick");

        add(feed, offset, bytes, sizeof bytes - 1);
        offset += sizeof bytes - 1;
        while (process_feed_next(feed, &piece))
            continue;
        process_feed_taken(feed, quick, offset, 0);
        while (process_feed_next(feed, &piece))
            continue;
    }
    assert_int_equal(offset, PROCESS_WINDOW + sizeof bytes - 1);
    /* The piece that it has not been sent is kept. */
    assert_true(process_feed_begin(feed) <= PROCESS_WINDOW);
    process_feed_leave(feed, slow);
    assert_false(process_feed_is_full(feed));
    assert_true(process_feed_begin(feed) > PROCESS_WINDOW / 2);
}

static void one_that_says_nothing_is_forgotten(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    cleanup_request request_t *loud = client("loud");

    (void) state;
    attach(feed, "silent", 0);
    attach(feed, "loud", 0);
    assert_true(process_feed_taken(feed, loud, 0, PROCESS_LEASE_MS));
    process_feed_expire(feed, PROCESS_LEASE_MS + 1);
    assert_non_null(process_feed_viewer(feed, 0));
    assert_null(process_feed_viewer(feed, 1));
    assert_true(
        request_is_of(process_feed_viewer(feed, 0), "", text_bytes("loud")));
    process_feed_leave(feed, loud);
    assert_false(process_feed_has_viewers(feed));
    assert_false(process_feed_taken(feed, loud, 0, 0));
}

static void no_more_than_some_follow(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    request_t *more = client("more");
    char name[8];
    fault_t fault;

    (void) state;
    for (int i = 0; i < PROCESS_VIEWERS; i++) {
        snprintf(name, sizeof name, "%d", i);
        attach(feed, name, 0);
    }
    assert_false(process_feed_has_place(feed, more));
    assert_true(process_feed_has_place(feed, process_feed_viewer(feed, 3)));
    assert_int_equal(process_feed_attach(feed, &more, 0, 0, &fault), -EBUSY);
    assert_null(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skips_what_it_has_and_refuses_a_hole),
        cmocka_unit_test(a_client_gets_what_it_asks_for_once),
        cmocka_unit_test(a_slow_client_holds_it_until_it_takes),
        cmocka_unit_test(one_that_says_nothing_is_forgotten),
        cmocka_unit_test(no_more_than_some_follow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
