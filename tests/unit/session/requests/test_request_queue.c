#include "gateway/session/requests/request_queue.h"
#include "tests/lib/checked.h"

#include <stdio.h>
#include <string.h>

static request_t *make(uint64_t number, const char *type)
{
    char header[160];
    message_t *message;

    snprintf(header, sizeof header,
             "{\"msg_id\":\"m%u\",\"session\":\"s\",\"msg_type\":\"%s\"}",
             (unsigned) number, type);
    message = message_new(text_bytes(header), text_bytes("{}"),
                          text_bytes("{}"), text_bytes("{\"code\":\"1\"}"));
    return request_new(number, CHANNEL_SHELL, &message);
}

static void push(request_queue_t *queue, uint64_t number, const char *type)
{
    request_t *request = make(number, type);

    request_queue_push(queue, &request);
    assert_null(request);
}

static void start(request_queue_t *queue, uint64_t number)
{
    request_t *request = make(number, "execute_request");

    request_queue_start(queue, &request);
    assert_null(request);
}

static void expect(request_t *request, uint64_t number)
{
    assert_non_null(request);
    assert_int_equal(request->number, number);
    assert_null(request->next);
    request_destroy(&request);
}

/* Requests go out in the order in which they came in. */
static void gives_requests_in_their_order(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    assert_null(request_queue_pop(queue));
    push(queue, 1, "execute_request");
    push(queue, 2, "complete_request");
    assert_int_equal(request_queue_size(queue), 2);
    assert_int_equal(request_queue_first(queue)->next->number, 2);
    expect(request_queue_pop(queue), 1);
    push(queue, 3, "execute_request");
    expect(request_queue_pop(queue), 2);
    expect(request_queue_pop(queue), 3);
    assert_null(request_queue_pop(queue));
    push(queue, 4, "execute_request");
    expect(request_queue_pop(queue), 4);
}

static void numbers_are_unique_over_gateways(void **state)
{
    cleanup_request_queue request_queue_t *first = request_queue_new(1);
    cleanup_request_queue request_queue_t *next = request_queue_new(2);

    (void) state;
    assert_int_equal(request_queue_number(first), (1ull << 32) + 1);
    assert_int_equal(request_queue_number(first), (1ull << 32) + 2);
    assert_int_equal(request_queue_number(next), (2ull << 32) + 1);
}

/* An abort of a msg_id that was not used yet is remembered, any other not. */
static void remembers_aborts_of_requests_that_have_not_come(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    request_queue_note_id(queue, "used");
    request_queue_abort_early(queue, "used");
    assert_false(request_queue_is_aborted(queue, "used"));
    request_queue_abort_early(queue, "early");
    assert_true(request_queue_is_aborted(queue, "early"));
    assert_false(request_queue_is_aborted(queue, "other"));
    assert_false(request_queue_knows_id(queue, "early"));
    /* A bound, so that a client cannot fill the memory. */
    for (unsigned i = 0; i < 2 * REQUEST_QUEUE_EARLY_MAX + 1; i++) {
        char id[16];

        snprintf(id, sizeof id, "%u", i);
        request_queue_abort_early(queue, id);
    }
    assert_false(request_queue_is_aborted(queue, "early"));
}

static void counts_the_bytes_that_wait_and_run(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);
    size_t one;

    (void) state;
    push(queue, 1, "execute_request");
    one = request_queue_bytes(queue);
    assert_true(one > sizeof(request_t));
    push(queue, 2, "execute_request");
    assert_int_equal(request_queue_bytes(queue), 2 * one);
    start(queue, 3);
    assert_int_equal(request_queue_bytes(queue), 2 * one);
    assert_int_equal(request_queue_held(queue), 3 * one);
    expect(request_queue_pop(queue), 1);
    assert_int_equal(request_queue_bytes(queue), one);
    assert_int_equal(request_queue_size(queue), 1);
    expect(request_queue_pop(queue), 2);
    assert_int_equal(request_queue_bytes(queue), 0);
    assert_int_equal(request_queue_held(queue), one);
}

static void has_room_up_to_its_limits(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);
    size_t one;

    (void) state;
    /* What waits for no other may be as big as it likes. */
    assert_int_equal(request_queue_room(queue, 1000, 2, 10),
                     REQUEST_QUEUE_ROOM);
    assert_int_equal(request_queue_room(queue, 1, 0, 10),
                     REQUEST_QUEUE_TOO_MANY);
    push(queue, 1, "execute_request");
    one = request_queue_bytes(queue);
    assert_int_equal(request_queue_room(queue, 10, 2, one + 10),
                     REQUEST_QUEUE_ROOM);
    assert_int_equal(request_queue_room(queue, 11, 2, one + 10),
                     REQUEST_QUEUE_TOO_MUCH);
    push(queue, 2, "execute_request");
    assert_int_equal(request_queue_room(queue, 0, 2, SIZE_MAX),
                     REQUEST_QUEUE_TOO_MANY);
    assert_int_equal(request_queue_room(queue, 0, 3, SIZE_MAX),
                     REQUEST_QUEUE_ROOM);
}

static void a_refusal_is_news_until_the_next_push(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    assert_true(request_queue_refuse(queue));
    assert_false(request_queue_refuse(queue));
    push(queue, 1, "execute_request");
    assert_true(request_queue_refuse(queue));
}

/* The cells after a failed one are aborted; other requests keep their places.
 */
static void takes_cells_from_among_other_requests(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    push(queue, 1, "complete_request");
    push(queue, 2, "execute_request");
    push(queue, 3, "inspect_request");
    push(queue, 4, "execute_request");
    expect(request_queue_pop_execute(queue), 2);
    expect(request_queue_pop_execute(queue), 4);
    assert_null(request_queue_pop_execute(queue));
    push(queue, 5, "execute_request");
    expect(request_queue_pop(queue), 1);
    expect(request_queue_pop(queue), 3);
    expect(request_queue_pop(queue), 5);
}

static void takes_the_first_ones_up_to_a_number(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    assert_null(request_queue_pop_until(queue, 9));
    push(queue, 3, "execute_request");
    push(queue, 5, "execute_request");
    expect(request_queue_pop_until(queue, 3), 3);
    assert_null(request_queue_pop_until(queue, 4));
    expect(request_queue_pop_until(queue, 9), 5);
}

static void finds_and_takes_by_number(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    push(queue, 1, "execute_request");
    push(queue, 2, "execute_request");
    push(queue, 3, "execute_request");
    assert_int_equal(request_queue_find(queue, 2)->number, 2);
    assert_null(request_queue_find(queue, 4));
    assert_null(request_queue_take(queue, 4));
    expect(request_queue_take(queue, 3), 3);
    push(queue, 6, "execute_request");
    expect(request_queue_take(queue, 1), 1);
    expect(request_queue_pop(queue), 2);
    expect(request_queue_pop(queue), 6);
}

static void finds_a_msg_id_among_what_the_kernel_gets(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    push(queue, 1, "kernel_info_request");
    push(queue, 2, "execute_request");
    start(queue, 3);
    assert_int_equal(request_queue_find_id(queue, "m3")->number, 3);
    assert_int_equal(request_queue_find_id(queue, "m2")->number, 2);
    /* The gateway answers that by itself, each time. */
    assert_null(request_queue_find_id(queue, "m1"));
    assert_null(request_queue_find_id(queue, "m4"));
}

static void knows_the_msg_ids_that_were_used(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    assert_false(request_queue_knows_id(queue, "a"));
    request_queue_note_id(queue, "a");
    assert_true(request_queue_knows_id(queue, "a"));
    assert_false(request_queue_knows_id(queue, "b"));
}

static void returns_the_running_request(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);
    request_t *other = make(8, "complete_request");

    (void) state;
    assert_false(request_queue_runs_cell(queue));
    assert_false(request_queue_runs(queue, 0));
    assert_null(request_queue_finish(queue));
    start(queue, 7);
    assert_true(request_queue_runs_cell(queue));
    assert_true(request_queue_runs(queue, 7));
    assert_false(request_queue_runs(queue, 8));
    assert_int_equal(request_queue_running(queue)->number, 7);
    expect(request_queue_finish(queue), 7);
    assert_null(request_queue_running(queue));
    request_queue_start(queue, &other);
    assert_false(request_queue_runs_cell(queue));
}

static void a_wish_for_input_ends_with_its_request(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    start(queue, 7);
    assert_int_equal(request_queue_input(queue), REQUEST_QUEUE_NO_INPUT);
    request_queue_want_input(queue, REQUEST_QUEUE_PASSWORD);
    assert_int_equal(request_queue_input(queue), REQUEST_QUEUE_PASSWORD);
    expect(request_queue_finish(queue), 7);
    assert_int_equal(request_queue_input(queue), REQUEST_QUEUE_NO_INPUT);
}

static bool is_header_of(bytes_t header, const char *msg_id)
{
    return memmem(header.bytes, header.size, msg_id, strlen(msg_id)) != NULL;
}

static void remembers_the_headers_of_the_last_requests(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    assert_int_equal(request_queue_last(queue).size, 0);
    start(queue, 1);
    assert_true(is_header_of(request_queue_parent(queue, 1), "\"m1\""));
    expect(request_queue_finish(queue), 1);
    assert_true(is_header_of(request_queue_last(queue), "\"m1\""));
    for (uint64_t i = 2; i <= REQUEST_QUEUE_RECENT_MAX; i++) {
        cleanup_request request_t *request = make(i, "execute_request");

        request_queue_remember(queue, request);
    }
    assert_true(is_header_of(request_queue_parent(queue, 1), "\"m1\""));
    assert_true(is_header_of(request_queue_last(queue), "\"m64\""));
    start(queue, 100);
    expect(request_queue_finish(queue), 100);
    assert_int_equal(request_queue_parent(queue, 1).size, 0);
    assert_true(is_header_of(request_queue_parent(queue, 2), "\"m2\""));
    assert_true(is_header_of(request_queue_last(queue), "\"m100\""));
    /* Output that no request caused has no parent. */
    assert_int_equal(request_queue_parent(queue, 0).size, 0);
}

static void reads_the_next_count_of_a_reply(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);

    (void) state;
    assert_int_equal(request_queue_next_count(queue), 1);
    request_queue_read_count(queue, checked("{\"next_count\":5}"));
    assert_int_equal(request_queue_next_count(queue), 5);
    request_queue_read_count(queue, checked("{\"next_count\":0}"));
    request_queue_read_count(queue, checked("{\"next_count\":\"7\"}"));
    request_queue_read_count(queue, checked("{}"));
    request_queue_read_count(queue, checked(""));
    assert_int_equal(request_queue_next_count(queue), 5);
    request_queue_set_next_count(queue, 1);
    assert_int_equal(request_queue_next_count(queue), 1);
}

static void knows_that_the_running_cell_awaits(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);
    request_t *request = make(2, "complete_request");

    (void) state;
    start(queue, 1);
    assert_false(request_queue_note_awaiting(queue, 2));
    assert_false(request_queue_is_awaiting(queue));
    assert_true(request_queue_note_awaiting(queue, 1));
    assert_true(request_queue_is_awaiting(queue));
    expect(request_queue_finish(queue), 1);
    assert_false(request_queue_is_awaiting(queue));
    request_queue_start(queue, &request);
    assert_false(request_queue_note_awaiting(queue, 2));
    expect(request_queue_finish(queue), 2);
}

static void finds_the_comm_messages_that_wait(void **state)
{
    cleanup_request_queue request_queue_t *queue = request_queue_new(1);
    request_t *first, *last;

    (void) state;
    assert_null(request_queue_next_comm(queue, NULL));
    push(queue, 1, "execute_request");
    push(queue, 2, "comm_open");
    push(queue, 3, "comm_info_request");
    push(queue, 4, "comm_close");
    first = request_queue_next_comm(queue, NULL);
    assert_int_equal(first->number, 2);
    last = request_queue_next_comm(queue, first);
    assert_int_equal(last->number, 4);
    assert_null(request_queue_next_comm(queue, last));
    assert_ptr_equal(request_queue_find_comm(queue, 4), last);
    assert_null(request_queue_find_comm(queue, 1));
    assert_null(request_queue_find_comm(queue, 3));
    assert_null(request_queue_find_comm(queue, 5));
    /* Its output has a parent once it was begun beside a cell. */
    assert_int_equal(request_queue_parent(queue, 4).size, 0);
    last->progress = REQUEST_STARTED;
    assert_true(is_header_of(request_queue_parent(queue, 4), "\"m4\""));
}

static void waiting_requests_are_freed_with_the_queue(void **state)
{
    request_queue_t *queue = request_queue_new(1);

    (void) state;
    push(queue, 1, "execute_request");
    start(queue, 2);
    request_queue_destroy(&queue);
    assert_null(queue);
    request_queue_destroy(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_requests_in_their_order),
        cmocka_unit_test(numbers_are_unique_over_gateways),
        cmocka_unit_test(remembers_aborts_of_requests_that_have_not_come),
        cmocka_unit_test(counts_the_bytes_that_wait_and_run),
        cmocka_unit_test(has_room_up_to_its_limits),
        cmocka_unit_test(a_refusal_is_news_until_the_next_push),
        cmocka_unit_test(takes_cells_from_among_other_requests),
        cmocka_unit_test(takes_the_first_ones_up_to_a_number),
        cmocka_unit_test(finds_and_takes_by_number),
        cmocka_unit_test(finds_a_msg_id_among_what_the_kernel_gets),
        cmocka_unit_test(knows_the_msg_ids_that_were_used),
        cmocka_unit_test(returns_the_running_request),
        cmocka_unit_test(a_wish_for_input_ends_with_its_request),
        cmocka_unit_test(remembers_the_headers_of_the_last_requests),
        cmocka_unit_test(reads_the_next_count_of_a_reply),
        cmocka_unit_test(knows_that_the_running_cell_awaits),
        cmocka_unit_test(finds_the_comm_messages_that_wait),
        cmocka_unit_test(waiting_requests_are_freed_with_the_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
