#include "base/memory_budget.h"
#include "gateway/session/limits/backpressure.h"
#include "tests/lib/test.h"

#define MOST     (16u << 20)
#define RESUME   BACKPRESSURE_RESUME(MOST)
#define PATIENCE 8000

static backpressure_load_t load(size_t outputs, size_t replies)
{
    return (backpressure_load_t){
        .outputs = outputs, .replies = replies, .is_permitted = true};
}

static int check(backpressure_t *self, backpressure_load_t has, int64_t now)
{
    return (int) backpressure_check(self, &has, now);
}

static int look(backpressure_t *self, backpressure_load_t has, int64_t now)
{
    return (int) backpressure_look(self, &has, now);
}

static void stops_reading_beyond_the_bound(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);

    (void) state;
    assert_int_equal(check(self, load(MOST, MOST), 100), BACKPRESSURE_READ);
    assert_false(backpressure_is_holding(self));
    assert_int_equal(check(self, load(MOST + 1, 0), 100), BACKPRESSURE_HOLD);
    assert_true(backpressure_is_holding(self));
    assert_int_equal(backpressure_since(self), 100);
    /* It has waited since the first time. */
    assert_int_equal(check(self, load(MOST + 1, 0), 200), BACKPRESSURE_HOLD);
    assert_int_equal(backpressure_since(self), 100);
}

static void stops_reading_for_untaken_replies(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);

    (void) state;
    assert_int_equal(check(self, load(0, MOST + 1), 100), BACKPRESSURE_HOLD);
}

static void reads_again_when_enough_was_taken(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);

    (void) state;
    assert_int_equal(check(self, load(MOST + 1, 0), 100), BACKPRESSURE_HOLD);
    assert_int_equal(look(self, load(RESUME + 1, 0), 102), BACKPRESSURE_HOLD);
    assert_int_equal(look(self, load(0, RESUME + 1), 104), BACKPRESSURE_HOLD);
    assert_true(backpressure_is_holding(self));
    assert_int_equal(look(self, load(RESUME, RESUME), 106), BACKPRESSURE_READ);
    assert_false(backpressure_is_holding(self));
}

static void hears_a_kernel_that_is_interrupted(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);
    backpressure_load_t urgent = load(MOST + 1, MOST + 1);

    (void) state;
    urgent.has_to_be_heard = true;
    assert_int_equal(check(self, urgent, 100), BACKPRESSURE_READ);
    assert_int_equal(check(self, load(MOST + 1, 0), 100), BACKPRESSURE_HOLD);
    assert_int_equal(look(self, urgent, 102), BACKPRESSURE_READ);
    /* But not where there is no memory. */
    urgent.is_permitted = false;
    assert_int_equal(check(self, urgent, 104), BACKPRESSURE_HOLD);
    assert_int_equal(look(self, urgent, 106), BACKPRESSURE_HOLD);
}

static void disconnects_subscribers_after_the_patience(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);
    backpressure_load_t full = load(MOST + 1, 0);

    (void) state;
    (void) check(self, full, 100);
    assert_int_equal(look(self, full, 100 + PATIENCE - 1), BACKPRESSURE_HOLD);
    assert_int_equal(look(self, full, 100 + PATIENCE),
                     BACKPRESSURE_CUT_SUBSCRIBERS);
    assert_int_equal(backpressure_since(self), 100 + PATIENCE);
    assert_true(backpressure_is_holding(self));
}

static void waits_less_soon_after_a_disconnect(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);
    backpressure_load_t full = load(MOST + 1, 0);
    int64_t at = 100 + PATIENCE;

    (void) state;
    (void) check(self, full, 100);
    (void) look(self, full, at);
    assert_int_equal(look(self, full, at + PATIENCE / 8 - 1),
                     BACKPRESSURE_HOLD);
    assert_int_equal(look(self, full, at + PATIENCE / 8),
                     BACKPRESSURE_CUT_SUBSCRIBERS);
    at += PATIENCE / 8;
    /* A minute later all is forgiven. */
    assert_int_equal(look(self, load(0, 0), at), BACKPRESSURE_READ);
    (void) check(self, full, at + BACKPRESSURE_AGAIN_MS - PATIENCE / 8);
    assert_int_equal(look(self, full, at + BACKPRESSURE_AGAIN_MS),
                     BACKPRESSURE_HOLD);
    assert_int_equal(look(self, full, at + BACKPRESSURE_AGAIN_MS + PATIENCE),
                     BACKPRESSURE_CUT_SUBSCRIBERS);
}

static void disconnects_the_peers_that_it_waits_for(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);

    (void) state;
    (void) check(self, load(0, MOST + 1), 100);
    assert_int_equal(look(self, load(0, MOST + 1), 100 + PATIENCE),
                     BACKPRESSURE_CUT_CLIENTS);
    assert_int_equal(backpressure_replies_since(self), 100 + PATIENCE);
    /* Subscribers have all their patience still. */
    assert_int_equal(look(self, load(MOST + 1, 0), 100 + 2 * PATIENCE - 1),
                     BACKPRESSURE_HOLD);
    assert_int_equal(look(self, load(MOST + 1, 0), 100 + 2 * PATIENCE),
                     BACKPRESSURE_CUT_SUBSCRIBERS);
}

static void ends_the_kernel_where_no_peer_is_to_blame(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);
    backpressure_load_t poor = load(MEMORY_FREE, MEMORY_FREE);

    (void) state;
    poor.is_permitted = false;
    assert_int_equal(check(self, poor, 100), BACKPRESSURE_HOLD);
    assert_int_equal(look(self, poor, 100 + PATIENCE), BACKPRESSURE_CUT_KERNEL);
    assert_int_equal(look(self, poor, 100 + PATIENCE + 1), BACKPRESSURE_HOLD);
}

static void disconnects_peers_earlier_when_memory_is_short(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);
    backpressure_load_t poor = load(MEMORY_FREE + 1, 0);

    (void) state;
    poor.is_permitted = false;
    (void) check(self, poor, 100);
    assert_int_equal(look(self, poor, 100 + PATIENCE),
                     BACKPRESSURE_CUT_SUBSCRIBERS);
    poor.outputs = 0;
    poor.replies = MEMORY_FREE + 1;
    assert_int_equal(look(self, poor, 100 + 2 * PATIENCE),
                     BACKPRESSURE_CUT_CLIENTS);
}

static void the_last_messages_of_a_kernel_are_accepted(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);

    (void) state;
    backpressure_ignore(self, true);
    assert_int_equal(check(self, load(MOST + 1, 0), 100), BACKPRESSURE_READ);
    backpressure_ignore(self, false);
    assert_int_equal(check(self, load(MOST + 1, 0), 100), BACKPRESSURE_HOLD);
    backpressure_end(self);
    assert_false(backpressure_is_holding(self));
}

static void repeats_each_owed_idle_once(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);

    (void) state;
    assert_false(backpressure_give(self));
    backpressure_owe(self, 1);
    backpressure_owe(self, 1);
    assert_true(backpressure_give(self));
    assert_true(backpressure_give(self));
    assert_false(backpressure_give(self));
}

static void bounds_replies_by_themselves(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);

    (void) state;
    assert_int_equal(backpressure_check_replies(self, MOST, 100),
                     BACKPRESSURE_READ);
    assert_int_equal(backpressure_check_replies(self, MOST + 1, 100),
                     BACKPRESSURE_HOLD);
    assert_false(backpressure_is_holding(self));
    /* It holds until it was looked at. */
    assert_int_equal(backpressure_check_replies(self, 0, 150),
                     BACKPRESSURE_HOLD);
    assert_int_equal(backpressure_replies_since(self), 100);
    assert_int_equal(backpressure_look_replies(self, RESUME + 1, 160),
                     BACKPRESSURE_HOLD);
    assert_int_equal(backpressure_look_replies(self, RESUME, 170),
                     BACKPRESSURE_READ);
    assert_int_equal(backpressure_check_replies(self, MOST, 180),
                     BACKPRESSURE_READ);
}

static void disconnects_clients_that_take_no_replies(void **state)
{
    cleanup_backpressure backpressure_t *self =
        backpressure_new(MOST, PATIENCE);
    int64_t at = 100 + PATIENCE;

    (void) state;
    (void) backpressure_check_replies(self, MOST + 1, 100);
    assert_int_equal(backpressure_look_replies(self, MOST + 1, at - 1),
                     BACKPRESSURE_HOLD);
    assert_int_equal(backpressure_look_replies(self, MOST + 1, at),
                     BACKPRESSURE_CUT_CLIENTS);
    assert_int_equal(backpressure_replies_since(self), at);
    assert_int_equal(
        backpressure_look_replies(self, MOST + 1, at + PATIENCE / 8 - 1),
        BACKPRESSURE_HOLD);
    assert_int_equal(
        backpressure_look_replies(self, MOST + 1, at + PATIENCE / 8),
        BACKPRESSURE_CUT_CLIENTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_reading_beyond_the_bound),
        cmocka_unit_test(stops_reading_for_untaken_replies),
        cmocka_unit_test(reads_again_when_enough_was_taken),
        cmocka_unit_test(hears_a_kernel_that_is_interrupted),
        cmocka_unit_test(disconnects_subscribers_after_the_patience),
        cmocka_unit_test(waits_less_soon_after_a_disconnect),
        cmocka_unit_test(disconnects_the_peers_that_it_waits_for),
        cmocka_unit_test(ends_the_kernel_where_no_peer_is_to_blame),
        cmocka_unit_test(disconnects_peers_earlier_when_memory_is_short),
        cmocka_unit_test(the_last_messages_of_a_kernel_are_accepted),
        cmocka_unit_test(repeats_each_owed_idle_once),
        cmocka_unit_test(bounds_replies_by_themselves),
        cmocka_unit_test(disconnects_clients_that_take_no_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
