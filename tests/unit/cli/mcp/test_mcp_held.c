/* Requests of a client that wait for those under way. A request is a text. */
#include "gateway/cli/mcp/mcp_held.h"

#include "tests/lib/test.h"

#include <string.h>

static char names[MCP_HELD_MAX + 1];

static mcp_held_t *held;

static int begin(void **state)
{
    (void) state;
    held = mcp_held_new();
    return 0;
}

static int end(void **state)
{
    (void) state;
    mcp_held_destroy(&held);
    assert_null(held);
    mcp_held_destroy(&held); /* does nothing */
    return 0;
}

static void they_go_in_their_order(void **state)
{
    char *a = &names[0], *b = &names[1], *c = &names[2];

    (void) state;
    assert_null(mcp_held_take(held, 0));
    assert_true(mcp_held_add(held, a, 1, false));
    assert_true(mcp_held_add(held, b, 1, false));
    assert_true(mcp_held_add(held, c, 1, false));
    assert_int_equal(mcp_held_count(held), 3);
    assert_null(mcp_held_take(held, MCP_HELD_LINES_MAX));
    assert_ptr_equal(mcp_held_take(held, MCP_HELD_LINES_MAX - 1), a);
    assert_ptr_equal(mcp_held_take(held, 0), b);
    assert_ptr_equal(mcp_held_take(held, 0), c);
    assert_null(mcp_held_take(held, 0));
    assert_int_equal(mcp_held_count(held), 0);
}

static void one_that_ends_a_wait_is_not_held_up(void **state)
{
    char *call = &names[0], *cancellation = &names[1], *answer = &names[2];
    size_t full = MCP_HELD_LINES_MAX + MCP_HELD_URGENT_MAX;

    (void) state;
    assert_true(mcp_held_may_send(MCP_HELD_LINES_MAX - 1, false));
    assert_false(mcp_held_may_send(MCP_HELD_LINES_MAX, false));
    assert_true(mcp_held_may_send(full - 1, true));
    assert_false(mcp_held_may_send(full, true));
    assert_true(mcp_held_add(held, call, 1, false));
    assert_true(mcp_held_add(held, cancellation, 1, true));
    assert_true(mcp_held_add(held, answer, 1, true));
    assert_null(mcp_held_take(held, full));
    assert_ptr_equal(mcp_held_take(held, MCP_HELD_LINES_MAX), cancellation);
    assert_ptr_equal(mcp_held_take(held, full - 1), answer);
    assert_null(mcp_held_take(held, full - 1));
    assert_ptr_equal(mcp_held_take(held, 0), call);
}

static void one_is_taken_out(void **state)
{
    char *a = &names[0], *b = &names[1], *c = &names[2];

    (void) state;
    assert_false(mcp_held_remove(held, a));
    assert_true(mcp_held_add(held, a, 1, false));
    assert_true(mcp_held_add(held, b, 1, false));
    assert_true(mcp_held_add(held, c, 1, false));
    assert_true(mcp_held_remove(held, b));
    assert_false(mcp_held_remove(held, b));
    assert_int_equal(mcp_held_count(held), 2);
    assert_ptr_equal(mcp_held_take(held, 0), a);
    assert_ptr_equal(mcp_held_take(held, 0), c);
}

static void their_number_is_bounded(void **state)
{
    (void) state;
    for (size_t i = 0; i < MCP_HELD_MAX; i++)
        assert_true(mcp_held_add(held, &names[i], 1, i % 2));
    assert_false(mcp_held_add(held, &names[MCP_HELD_MAX], 1, false));
    assert_false(mcp_held_add(held, &names[MCP_HELD_MAX], 1, true));
    assert_int_equal(mcp_held_count(held), MCP_HELD_MAX);
    assert_true(mcp_held_remove(held, &names[7]));
    assert_true(mcp_held_add(held, &names[MCP_HELD_MAX], 1, false));
}

static void their_bytes_are_bounded(void **state)
{
    char *a = &names[0], *b = &names[1];

    (void) state;
    assert_false(mcp_held_add(held, a, MCP_HELD_BYTES + 1, false));
    assert_int_equal(mcp_held_count(held), 0);
    assert_true(mcp_held_add(held, a, MCP_HELD_BYTES, false));
    assert_false(mcp_held_add(held, b, 1, false));
    assert_ptr_equal(mcp_held_take(held, 0), a);
    assert_true(mcp_held_add(held, b, MCP_HELD_BYTES, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(they_go_in_their_order, begin, end),
        cmocka_unit_test_setup_teardown(one_that_ends_a_wait_is_not_held_up,
                                        begin, end),
        cmocka_unit_test_setup_teardown(one_is_taken_out, begin, end),
        cmocka_unit_test_setup_teardown(their_number_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(their_bytes_are_bounded, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
