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
    attach(feed, "0", 0); /* one of them, anew */
    assert_null(more);
}

#define PIECE (PROCESS_RECENT_MAX / 4) /* bytes; the most of one */

/* Adds that many bytes of a stream. */
static void add_bytes(process_feed_t *feed, unsigned stream, size_t count)
{
    static char bytes[PIECE];
    uint64_t end = process_feed_end(feed);
    size_t fresh;
    fault_t fault;

    memset(bytes, 'x', sizeof bytes);
    assert_true(count <= sizeof bytes);
    assert_int_equal(process_feed_add(feed, end, stream,
                                      (bytes_t){bytes, count}, &fresh, &fault),
                     0);
    assert_int_equal(fresh, count);
}

/* Checks the next piece; a size of 0: there is none. */
static void expect_next(process_feed_t *feed, uint64_t offset, unsigned stream,
                        size_t size)
{
    process_piece_t piece;

    assert_int_equal(process_feed_next(feed, &piece), size > 0);
    if (!size)
        return;
    assert_int_equal(piece.offset, offset);
    assert_int_equal(piece.stream, stream);
    assert_int_equal(piece.bytes.size, size);
}

static void a_piece_has_one_stream_and_a_limit(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    process_feed_t *none = NULL;

    (void) state;
    process_feed_destroy(&none);
    add_bytes(feed, 1, PIECE / 2);
    add_bytes(feed, 1, PIECE / 2);
    add_bytes(feed, 1, 1);
    add_bytes(feed, 2, 5);
    add_bytes(feed, 1, 7);
    attach(feed, "a", 0);
    expect_next(feed, 0, 1, PIECE);
    expect_next(feed, PIECE, 1, 1);
    expect_next(feed, PIECE + 1, 2, 5);
    expect_next(feed, PIECE + 6, 1, 7);
    expect_next(feed, 0, 0, 0);
}

static void the_oldest_pieces_are_forgotten(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();

    (void) state;
    for (int i = 0; i < 4; i++)
        add_bytes(feed, 1, PIECE);
    assert_int_equal(process_feed_begin(feed), 0);
    add_bytes(feed, 1, 1);
    assert_int_equal(process_feed_begin(feed), PIECE);
    /* A new client gets what is left. */
    attach(feed, "a", 0);
    expect_next(feed, PIECE, 1, PIECE);
}

static void a_piece_that_a_client_has_to_get_is_kept(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    cleanup_request request_t *slow = client("slow");

    (void) state;
    add_bytes(feed, 1, PIECE);
    attach(feed, "quick", PIECE);
    attach(feed, "slow", PIECE - 1);
    attach(feed, "other", PIECE);
    for (int i = 0; i < 4; i++)
        add_bytes(feed, 1, PIECE);
    assert_int_equal(process_feed_begin(feed), 0);
    process_feed_leave(feed, slow);
    /* Those that are left have it, and nothing more. */
    assert_int_equal(process_feed_begin(feed), PIECE);
    add_bytes(feed, 1, PIECE);
    assert_int_equal(process_feed_begin(feed), PIECE);
}

static void a_client_takes_before_it_gets_more(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    cleanup_request request_t *viewer = client("a");

    (void) state;
    attach(feed, "a", 0);
    for (uint64_t at = 0; at < PROCESS_WINDOW; at += PIECE) {
        add_bytes(feed, 1, PIECE);
        expect_next(feed, at, 1, PIECE);
    }
    add_bytes(feed, 1, 1);
    expect_next(feed, 0, 0, 0);
    /* It cannot have what it was not sent. */
    assert_true(process_feed_taken(feed, viewer, PROCESS_WINDOW + 1, 0));
    expect_next(feed, 0, 0, 0);
    assert_true(process_feed_taken(feed, viewer, PROCESS_WINDOW, 0));
    assert_true(process_feed_taken(feed, viewer, 0, 0)); /* it came late */
    expect_next(feed, PROCESS_WINDOW, 1, 1);
}

static void a_client_follows_from_what_there_is(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();

    (void) state;
    add(feed, 100, "abc", 3);
    attach(feed, "later", 104);
    assert_false(process_feed_is_full(feed));
    attach(feed, "sooner", 99);
    expect_next(feed, 100, 1, 3);
    add(feed, 103, "d", 1);
    expect_next(feed, 103, 1, 1);
    expect_next(feed, 103, 1, 1);
}

static void those_that_have_all_are_finished(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();
    cleanup_request request_t *done = NULL;

    (void) state;
    attach(feed, "slow", 0);
    add(feed, 0, "abc", 3);
    assert_null(process_feed_finish(feed));
    attach(feed, "quick", 3);
    done = process_feed_finish(feed);
    assert_true(request_is_of(done, "", text_bytes("quick")));
    assert_null(process_feed_finish(feed));
    assert_true(process_feed_has_viewers(feed));
}

static void a_lease_lasts_to_its_end(void **state)
{
    cleanup_process_feed process_feed_t *feed = process_feed_new();

    (void) state;
    attach(feed, "a", 0);
    attach(feed, "b", 0);
    process_feed_expire(feed, PROCESS_LEASE_MS);
    assert_non_null(process_feed_viewer(feed, 1));
    process_feed_expire(feed, PROCESS_LEASE_MS + 1);
    assert_false(process_feed_has_viewers(feed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skips_what_it_has_and_refuses_a_hole),
        cmocka_unit_test(a_client_gets_what_it_asks_for_once),
        cmocka_unit_test(a_slow_client_holds_it_until_it_takes),
        cmocka_unit_test(one_that_says_nothing_is_forgotten),
        cmocka_unit_test(no_more_than_some_follow),
        cmocka_unit_test(a_piece_has_one_stream_and_a_limit),
        cmocka_unit_test(the_oldest_pieces_are_forgotten),
        cmocka_unit_test(a_piece_that_a_client_has_to_get_is_kept),
        cmocka_unit_test(a_client_takes_before_it_gets_more),
        cmocka_unit_test(a_client_follows_from_what_there_is),
        cmocka_unit_test(those_that_have_all_are_finished),
        cmocka_unit_test(a_lease_lasts_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
