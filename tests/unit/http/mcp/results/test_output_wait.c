#include "gateway/http/mcp/results/output_wait.h"

#include "tests/lib/test.h"

static output_wait_t wait_for(output_follow_t follow)
{
    return (output_wait_t){.follow = follow, .until_ms = 5000};
}

static void without_output_it_is_due_at_its_end(void **state)
{
    static const output_follow_t each[] = {FOLLOW_OUTPUT, FOLLOW_QUIET,
                                           FOLLOW_END};

    (void) state;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        output_wait_t self = wait_for(each[i]);

        assert_int_equal(output_wait_due(&self), 5000);
    }
}

static void output_is_due_at_once(void **state)
{
    output_wait_t self = wait_for(FOLLOW_OUTPUT);

    (void) state;
    self.has_output = true;
    self.heard_ms = 1000;
    assert_int_equal(output_wait_due(&self), 1000);
}

static void output_is_due_when_no_more_has_come_for_a_moment(void **state)
{
    output_wait_t self = wait_for(FOLLOW_QUIET);

    (void) state;
    self.has_output = true;
    self.heard_ms = 1000;
    assert_int_equal(output_wait_due(&self), 1000 + OUTPUT_WAIT_QUIET_MS);
    self.heard_ms = 1001;
    assert_int_equal(output_wait_due(&self), 1001 + OUTPUT_WAIT_QUIET_MS);
    /* Not after the end of its time. */
    self.heard_ms = 4999;
    assert_int_equal(output_wait_due(&self), 5000);
}

static void the_end_of_the_program_is_awaited(void **state)
{
    output_wait_t self = wait_for(FOLLOW_END);

    (void) state;
    self.has_output = true;
    self.heard_ms = 1000;
    assert_int_equal(output_wait_due(&self), 5000);
}

static void what_there_was_comes_first(void **state)
{
    output_wait_t self = wait_for(FOLLOW_OUTPUT);

    (void) state;
    self.has_output = true;
    self.next = 9;
    self.known = 10;
    assert_int_equal(output_wait_due(&self), -1);
    self.next = 10;
    assert_int_equal(output_wait_due(&self), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_output_it_is_due_at_its_end),
        cmocka_unit_test(output_is_due_at_once),
        cmocka_unit_test(output_is_due_when_no_more_has_come_for_a_moment),
        cmocka_unit_test(the_end_of_the_program_is_awaited),
        cmocka_unit_test(what_there_was_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
