#include "kernels/output_ring.h"
#include "tests/lib/test.h"

#include <string.h>

static void pieces_come_in_order_by_stream(void **state)
{
    cleanup_output_ring output_ring_t *ring = output_ring_new(1000, 1000, 4);
    output_piece_t piece;

    (void) state;
    assert_false(output_ring_next(ring, &piece));
    assert_true(output_ring_is_taken(ring));
    output_ring_add(ring, 1, "abcdef", 6);
    output_ring_add(ring, 2, "g", 1);
    assert_true(output_ring_next(ring, &piece));
    assert_int_equal(piece.offset, 0);
    assert_int_equal(piece.bytes.size, 4);
    output_ring_sent(ring);
    assert_true(output_ring_next(ring, &piece));
    assert_int_equal(piece.offset, 4);
    assert_memory_equal(piece.bytes.bytes, "ef", 2);
    output_ring_sent(ring);
    assert_true(output_ring_next(ring, &piece));
    assert_int_equal(piece.stream, 2);
    assert_int_equal(piece.offset, 6);
    output_ring_sent(ring);
    assert_false(output_ring_next(ring, &piece));
    assert_false(output_ring_is_taken(ring));
    output_ring_taken(ring, 7);
    assert_int_equal(output_ring_taken_second(ring), 1);
    assert_true(output_ring_is_taken(ring));
}

static void has_no_room_for_what_is_not_taken(void **state)
{
    cleanup_output_ring output_ring_t *ring = output_ring_new(300, 300, 100);
    char bytes[100];
    size_t room;
    output_piece_t piece;

    (void) state;
    memset(bytes, 'x', sizeof bytes);
    while ((room = output_ring_room(ring)) > 0)
        output_ring_add(ring, 1, bytes, room < 100 ? room : 100);
    while (output_ring_next(ring, &piece))
        output_ring_sent(ring);
    assert_int_equal(output_ring_room(ring), 0);
    output_ring_taken(ring, 100);
    assert_true(output_ring_room(ring) > 0);
}

static void many_small_pieces_fill_it_too(void **state)
{
    cleanup_output_ring output_ring_t *ring = output_ring_new(1000, 1000, 100);
    output_piece_t piece;
    size_t count = 0;

    (void) state;
    for (; output_ring_room(ring) > 0; count++) {
        output_ring_add(ring, 1 + count % 2, "x", 1);
        assert_true(output_ring_next(ring, &piece));
        output_ring_sent(ring);
    }
    assert_true(count < 20);
}

static void a_new_gateway_gets_what_is_kept(void **state)
{
    cleanup_output_ring output_ring_t *ring = output_ring_new(1000, 150, 10);
    output_piece_t piece;

    (void) state;
    output_ring_add(ring, 1, "0123456789", 10);
    output_ring_add(ring, 1, "abcdefghij", 10);
    output_ring_add(ring, 1, "ABC", 3);
    while (output_ring_next(ring, &piece))
        output_ring_sent(ring);
    output_ring_taken(ring, 20);
    output_ring_rewind(ring);
    /* The first piece is over the bound, and was taken. */
    assert_true(output_ring_next(ring, &piece));
    assert_int_equal(piece.offset, 10);
    output_ring_sent(ring);
    assert_true(output_ring_next(ring, &piece));
    assert_int_equal(piece.offset, 20);
    assert_int_equal(output_ring_taken_offset(ring), 20);
}

static void does_not_believe_in_what_it_never_had(void **state)
{
    cleanup_output_ring output_ring_t *ring = output_ring_new(1000, 1000, 10);

    (void) state;
    output_ring_add(ring, 1, "abc", 3);
    output_ring_taken(ring, 4);
    assert_int_equal(output_ring_taken_offset(ring), 0);
    output_ring_taken(ring, 3);
    output_ring_taken(ring, 1);
    assert_int_equal(output_ring_taken_offset(ring), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_in_order_by_stream),
        cmocka_unit_test(has_no_room_for_what_is_not_taken),
        cmocka_unit_test(many_small_pieces_fill_it_too),
        cmocka_unit_test(a_new_gateway_gets_what_is_kept),
        cmocka_unit_test(does_not_believe_in_what_it_never_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
