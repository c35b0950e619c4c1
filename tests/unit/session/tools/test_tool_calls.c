#include "gateway/session/tools/tool_calls.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static const profile_limits_t limits = {
    .tool_calls = 4,
    .tool_waiting = 2,
    .tool_argument_bytes = 100,
    .tool_result_bytes = 50,
};

static void add(tool_calls_t *self, uint64_t id, const char *provider,
                int64_t until_ms)
{
    tool_call_t *call = mem_new(sizeof *call);

    call->id = id;
    call->number = id + 1000;
    call->tool = mem_text("t");
    call->provider = mem_text(provider);
    call->until_ms = until_ms;
    buffer_text(&call->arguments, "{}");
    tool_calls_add(self, &call);
}

static int counts(tool_calls_t *self, size_t bytes, const char *wanted)
{
    tool_limit_t limit = {.name = ""};
    fault_t fault;
    int r = tool_calls_count(self, bytes, &limit, &fault);

    assert_string_equal(limit.name, wanted);
    return r;
}

static void a_call_waits_until_it_is_taken(void **state)
{
    cleanup_tool_calls tool_calls_t *self = tool_calls_new(&limits);
    cleanup_tool_call tool_call_t *taken = NULL;

    (void) state;
    assert_null(tool_calls_first(self));
    add(self, 5, "p", 30);
    add(self, 6, "p", 20);
    assert_int_equal(tool_calls_first(self)->id, 5);
    assert_int_equal(tool_calls_find_number(self, 1006)->id, 6);
    assert_null(tool_calls_find(self, 7));
    assert_int_equal(tool_calls_next_ms(self), 20);
    assert_null(tool_calls_take(self, 7));
    taken = tool_calls_take(self, 5);
    assert_int_equal(taken->id, 5);
    assert_null(tool_calls_take(self, 5));
    assert_int_equal(tool_calls_first(self)->id, 6);
    tool_calls_clear(self);
    assert_null(tool_calls_first(self));
    assert_int_equal(tool_calls_next_ms(self), INT64_MAX);
}

static void a_cell_has_an_allowance(void **state)
{
    cleanup_tool_calls tool_calls_t *self = tool_calls_new(&limits);

    (void) state;
    assert_int_equal(counts(self, 60, ""), 0);
    assert_int_equal(counts(self, 41, "tool_argument_bytes"), -EDQUOT);
    assert_int_equal(counts(self, 40, ""), 0);
    assert_int_equal(counts(self, 0, ""), 0);
    assert_int_equal(counts(self, 0, ""), 0);
    assert_int_equal(counts(self, 0, "tool_calls"), -EDQUOT);
    tool_calls_begin_cell(self);
    assert_int_equal(counts(self, 100, ""), 0);
}

static void few_may_wait_at_a_time(void **state)
{
    cleanup_tool_calls tool_calls_t *self = tool_calls_new(&limits);

    (void) state;
    add(self, 1, "p", 0);
    assert_int_equal(counts(self, 0, ""), 0);
    add(self, 2, "p", 0);
    assert_int_equal(counts(self, 0, "tool_waiting"), -EDQUOT);
    tool_calls_begin_cell(self); /* of a thread's calls it takes none */
    assert_int_equal(counts(self, 0, "tool_waiting"), -EDQUOT);
    tool_calls_clear(self);
    assert_int_equal(counts(self, 0, ""), 0);
}

static void results_have_an_allowance(void **state)
{
    cleanup_tool_calls tool_calls_t *self = tool_calls_new(&limits);
    tool_limit_t limit = {0};
    fault_t fault;

    (void) state;
    assert_int_equal(tool_calls_count_result(self, 50, &limit, &fault), 0);
    assert_int_equal(tool_calls_count_result(self, 1, &limit, &fault), -EDQUOT);
    assert_string_equal(limit.name, "tool_result_bytes");
    assert_int_equal(limit.max, 50);
    tool_calls_begin_cell(self);
    assert_int_equal(tool_calls_count_result(self, 1, &limit, &fault), 0);
}

static void each_call_is_given_to_one_place(void **state)
{
    cleanup_tool_calls tool_calls_t *self = tool_calls_new(&limits);
    const tool_call_t *call;

    (void) state;
    add(self, 5, "p", 0);
    call = tool_calls_first(self);
    assert_false(tool_calls_are_given(self, "p"));
    assert_true(tool_calls_is_wanted(call, "p", "x", 9));
    assert_false(tool_calls_is_wanted(call, "q", "x", 0));
    tool_calls_note_given(self, "p", "x", 0);
    assert_true(tool_calls_are_given(self, "p"));
    assert_false(tool_calls_are_given(self, "q"));
    assert_false(tool_calls_is_wanted(call, "p", "y", 0));
    assert_false(tool_calls_is_wanted(call, "p", "x", 5));
    assert_true(tool_calls_is_wanted(call, "p", "x", 4));
    tool_calls_note_left(self, "y");
    assert_false(tool_calls_is_wanted(call, "p", "y", 0));
    tool_calls_note_left(self, "x");
    assert_true(tool_calls_is_wanted(call, "p", "y", 9));
}

static void one_without_arguments_is_for_no_place(void **state)
{
    cleanup_tool_calls tool_calls_t *self = tool_calls_new(&limits);
    tool_call_t *call = mem_new(sizeof *call);

    (void) state;
    call->id = 1;
    call->provider = mem_text("p");
    tool_calls_add(self, &call);
    assert_false(tool_calls_is_wanted(tool_calls_first(self), "p", "x", 0));
}

static void collect(void *arg, uint64_t number, bytes_t content)
{
    buffer_format(arg, "%d:%.*s ", (int) number, (int) content.size,
                  (const char *) content.bytes);
}

static void answers_are_kept_for_a_cell(void **state)
{
    cleanup_tool_calls tool_calls_t *self = tool_calls_new(&limits);
    cleanup_buffer buffer_t seen = BUFFER_EMPTY;

    (void) state;
    tool_calls_keep_answer(self, 1, text_bytes("a"));
    tool_calls_keep_answer(self, 2, text_bytes("b"));
    tool_calls_each_answer(self, collect, &seen);
    assert_string_equal((const char *) seen.data, "1:a 2:b ");
    tool_calls_begin_cell(self);
    buffer_clear(&seen);
    tool_calls_keep_answer(self, 3, text_bytes("c"));
    tool_calls_each_answer(self, collect, &seen);
    assert_string_equal((const char *) seen.data, "3:c ");
}

static void refused_calls_take_no_memory(void **state)
{
    cleanup_tool_calls tool_calls_t *self = tool_calls_new(&limits);
    cleanup_buffer buffer_t seen = BUFFER_EMPTY;

    (void) state;
    for (uint64_t number = 1; number <= 8; number++)
        tool_calls_keep_answer(self, number, text_bytes("a"));
    tool_calls_each_answer(self, collect, &seen);
    assert_string_equal((const char *) seen.data, "3:a 4:a 5:a 6:a 7:a 8:a ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_waits_until_it_is_taken),
        cmocka_unit_test(a_cell_has_an_allowance),
        cmocka_unit_test(few_may_wait_at_a_time),
        cmocka_unit_test(results_have_an_allowance),
        cmocka_unit_test(each_call_is_given_to_one_place),
        cmocka_unit_test(one_without_arguments_is_for_no_place),
        cmocka_unit_test(answers_are_kept_for_a_cell),
        cmocka_unit_test(refused_calls_take_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
