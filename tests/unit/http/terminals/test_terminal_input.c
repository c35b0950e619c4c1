/* Input that waits for a terminal's program: its pieces, its window and its
 * bounds, over counters alone. */
#include "gateway/http/terminals/terminal_input.h"
#include "tests/lib/test.h"

static memory_quotas_t memory;
static terminal_input_t input;
static uint8_t bytes[TERMINAL_INPUT_MAX + 1];

static int begin(void **state)
{
    (void) state;
    memory = (memory_quotas_t){.max = 4u << 20};
    input = (terminal_input_t){0};
    return 0;
}

static int end(void **state)
{
    (void) state;
    terminal_input_clear(&input, &memory);
    assert_int_equal(memory.taken, 0);
    return 0;
}

static bool add(size_t size)
{
    return terminal_input_add(&input, &memory, (bytes_t){bytes, size});
}

/* Sends all that may be sent, and returns how many pieces that was. */
static unsigned send_all(void)
{
    bytes_t piece;
    unsigned pieces = 0;

    for (; terminal_input_next(&input, &piece); pieces++)
        terminal_input_sent(&input, &memory, piece.size);
    return pieces;
}

static void goes_out_in_pieces(void **state)
{
    bytes_t piece;

    (void) state;
    assert_false(terminal_input_next(&input, &piece));
    assert_true(add(5));
    assert_true(terminal_input_next(&input, &piece));
    assert_int_equal(piece.size, 5);
    terminal_input_sent(&input, &memory, 5);
    assert_int_equal(input.sent, 5);
    assert_false(terminal_input_next(&input, &piece));
    assert_true(add(TERMINAL_INPUT_PIECE + 1));
    assert_true(terminal_input_next(&input, &piece));
    assert_int_equal(piece.size, TERMINAL_INPUT_PIECE);
    assert_int_equal(send_all(), 2);
}

static void goes_no_further_than_the_program_reads(void **state)
{
    (void) state;
    assert_true(add(4 * TERMINAL_INPUT_WINDOW));
    assert_int_equal(send_all(), TERMINAL_INPUT_WINDOW / TERMINAL_INPUT_PIECE);
    assert_int_equal(input.sent, TERMINAL_INPUT_WINDOW);
    input.read = 1; /* there is room, for a whole piece */
    assert_int_equal(send_all(), 1);
    input.read = TERMINAL_INPUT_PIECE;
    assert_int_equal(send_all(), 0);
}

static void begins_where_the_program_is(void **state)
{
    (void) state;
    /* Another gateway has sent what was read, and perhaps more. */
    terminal_input_begin(&input, 100);
    assert_int_equal(input.sent, 100);
    assert_true(add(10));
    assert_int_equal(send_all(), 1);
    terminal_input_begin(&input, 104); /* six of it are on their way */
    assert_int_equal(input.sent, 110);
    assert_int_equal(input.read, 104);
    terminal_input_begin(&input, 120);
    assert_int_equal(input.sent, 120);
}

static void what_waits_is_bounded(void **state)
{
    (void) state;
    assert_false(add(TERMINAL_INPUT_MAX + 1));
    assert_true(add(TERMINAL_INPUT_MAX));
    assert_false(add(1));
    assert_int_equal(input.waiting.size, TERMINAL_INPUT_MAX);
    assert_int_equal(memory.taken, TERMINAL_INPUT_MAX - MEMORY_QUOTA_FREE);
    assert_int_equal(send_all(), 2);
    assert_int_equal(memory.taken, TERMINAL_INPUT_MAX - TERMINAL_INPUT_WINDOW
                                       - MEMORY_QUOTA_FREE);
    /* And by the memory of all clients. */
    memory.max = memory.taken;
    assert_false(add(1));
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        FRESH(goes_out_in_pieces),
        FRESH(goes_no_further_than_the_program_reads),
        FRESH(begins_where_the_program_is),
        FRESH(what_waits_is_bounded),
    };

    return cmocka_run_group_tests_name("terminal_input", tests, NULL, NULL);
}
