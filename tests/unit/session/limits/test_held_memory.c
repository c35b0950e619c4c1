#include "gateway/session/limits/held_memory.h"
#include "tests/lib/test.h"

#define MIB      (1u << 20)
#define PATIENCE 8000

static void counts_all_that_is_held(void **state)
{
    cleanup_memory_budget memory_budget_t *budget = memory_budget_new(64 * MIB);
    held_memory_t *self = held_memory_new(budget, PATIENCE);
    held_memory_load_t load = {.link = MEMORY_FREE};

    (void) state;
    assert_false(held_memory_count(self, &load));
    load = (held_memory_load_t){
        .link = MIB, .peers = 2 * MIB, .requests = 3 * MIB};
    assert_true(held_memory_count(self, &load));
    assert_int_equal(memory_budget_held(budget), 6 * MIB - MEMORY_FREE);
    assert_ptr_equal(held_memory_budget(self), budget);
    held_memory_destroy(&self);
    assert_null(self);
    assert_int_equal(memory_budget_held(budget), 0);
}

static void without_a_budget_nothing_is_counted(void **state)
{
    cleanup_held_memory held_memory_t *self = held_memory_new(NULL, PATIENCE);
    held_memory_load_t load = {.link = 1u << 30, .requests = 1u << 30};

    (void) state;
    assert_false(held_memory_count(self, &load));
    assert_true(held_memory_permits_reading(self, &load, MIB));
    assert_true(held_memory_permits_request(self, &load, MIB));
}

/* Fills the budget by another session. */
static memory_share_t crowd(memory_budget_t *budget)
{
    memory_share_t other = {.budget = budget};

    memory_share_set(&other, 64 * MIB + MEMORY_FREE);
    return other;
}

static void a_little_is_always_permitted(void **state)
{
    cleanup_memory_budget memory_budget_t *budget = memory_budget_new(64 * MIB);
    cleanup_held_memory held_memory_t *self = held_memory_new(budget, PATIENCE);
    memory_share_t other = crowd(budget);
    held_memory_load_t load = {.link = MEMORY_FREE / 2,
                               .peers = MEMORY_FREE / 4};

    (void) state;
    (void) held_memory_count(self, &load);
    assert_true(held_memory_permits_reading(self, &load, MEMORY_FREE / 4));
    assert_false(held_memory_permits_reading(self, &load, MEMORY_FREE / 4 + 1));
    assert_true(held_memory_is_free(MEMORY_FREE));
    assert_false(held_memory_is_free(MEMORY_FREE + 1));
    assert_false(held_memory_permits_request(self, &load, MEMORY_FREE));
    load.requests = MEMORY_FREE;
    /* Requests that wait keep no kernel from being read. */
    assert_true(held_memory_permits_reading(self, &load, MEMORY_FREE / 4));
    memory_share_set(&other, 0);
    assert_true(held_memory_permits_reading(self, &load, MIB));
    assert_true(held_memory_permits_request(self, &load, MIB));
}

typedef struct {
    memory_budget_t *budget;
    memory_share_t other;
    held_memory_t *self;
    held_memory_message_t message;
} stall_t;

/* A message is half there, and memory is short. */
static stall_t begin_stall(void)
{
    stall_t stall = {.budget = memory_budget_new(64 * MIB)};

    stall.other = crowd(stall.budget);
    (void) memory_share_permits(&stall.other, MIB);
    assert_true(memory_budget_is_short(stall.budget));
    stall.self = held_memory_new(stall.budget, PATIENCE);
    stall.message = (held_memory_message_t){
        .unfinished = MEMORY_FREE + 1, .received = MIB, .may_end = true};
    assert_false(held_memory_is_stalled(stall.self, &stall.message, 1000));
    return stall;
}

static void end_stall(stall_t *stall)
{
    held_memory_destroy(&stall->self);
    memory_share_set(&stall->other, 0);
    memory_budget_destroy(&stall->budget);
}

static void a_kernel_that_stops_is_found(void **state)
{
    stall_t stall = begin_stall();

    (void) state;
    assert_false(held_memory_is_stalled(stall.self, &stall.message,
                                        1000 + PATIENCE / 2 - 1));
    assert_true(held_memory_is_stalled(stall.self, &stall.message,
                                       1000 + PATIENCE / 2));
    /* That was said. */
    assert_false(
        held_memory_is_stalled(stall.self, &stall.message, 1000 + PATIENCE));
    end_stall(&stall);
}

static void a_kernel_that_makes_progress_is_not_blamed(void **state)
{
    stall_t stall = begin_stall();

    (void) state;
    stall.message.received += HELD_MEMORY_STALL_BYTES;
    assert_false(held_memory_is_stalled(stall.self, &stall.message, 9000));
    stall.message.received += HELD_MEMORY_STALL_BYTES - 1;
    assert_true(held_memory_is_stalled(stall.self, &stall.message, 13000));
    end_stall(&stall);
}

static void a_kernel_that_is_not_read_is_not_blamed(void **state)
{
    stall_t stall = begin_stall();

    (void) state;
    stall.message.is_held = true;
    assert_false(held_memory_is_stalled(stall.self, &stall.message, 9000));
    stall.message.is_held = false;
    assert_false(held_memory_is_stalled(stall.self, &stall.message, 9001));
    stall.message.unfinished = MEMORY_FREE;
    assert_false(held_memory_is_stalled(stall.self, &stall.message, 90000));
    end_stall(&stall);
}

static void a_kernel_that_ends_is_left_alone(void **state)
{
    stall_t stall = begin_stall();

    (void) state;
    stall.message.may_end = false;
    assert_false(held_memory_is_stalled(stall.self, &stall.message, 9000));
    end_stall(&stall);
}

static void where_memory_is_not_short_a_kernel_may_stop(void **state)
{
    cleanup_memory_budget memory_budget_t *budget = memory_budget_new(64 * MIB);
    cleanup_held_memory held_memory_t *self = held_memory_new(budget, PATIENCE);
    held_memory_message_t message = {
        .unfinished = MIB, .received = MIB, .may_end = true};

    (void) state;
    assert_false(held_memory_is_stalled(self, &message, 1000));
    assert_false(held_memory_is_stalled(self, &message, 90000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_all_that_is_held),
        cmocka_unit_test(without_a_budget_nothing_is_counted),
        cmocka_unit_test(a_little_is_always_permitted),
        cmocka_unit_test(a_kernel_that_stops_is_found),
        cmocka_unit_test(a_kernel_that_makes_progress_is_not_blamed),
        cmocka_unit_test(a_kernel_that_is_not_read_is_not_blamed),
        cmocka_unit_test(a_kernel_that_ends_is_left_alone),
        cmocka_unit_test(where_memory_is_not_short_a_kernel_may_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
