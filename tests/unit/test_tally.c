/* What has happened is counted under names that are known; starts by how long
 * they took. */
#include "gateway/metrics/histogram.h"
#include "gateway/registry/stats.h"

#include "tests/lib/test.h"

static json_int_t number(const json_t *object, const char *group,
                         const char *name)
{
    return json_integer_value(
        json_object_get(json_object_get(object, group), name));
}

static void names_stand_there_before_they_happen(void **state)
{
    tally_t *tally = tally_new();
    json_auto_t *before = tally_describe(tally);

    (void) state;
    assert_non_null(json_object_get(json_object_get(before, "ended"), "idle"));
    assert_null(json_object_get(json_object_get(before, "ended"), "none"));
    assert_int_equal(number(before, "limits", "memory"), 0);
    assert_int_equal(number(before, "starts", "count"), 0);
    tally_destroy(&tally);
    assert_null(tally);
}

static void counts_what_it_knows_and_nothing_else(void **state)
{
    tally_t *tally = tally_new();

    (void) state;
    tally_end(tally, "idle");
    tally_end(tally, "idle");
    tally_limit(tally, TALLY_STARTS);
    tally_limit(tally, "a\"name");
    tally_end(tally, "");
    json_auto_t *after = tally_describe(tally);
    assert_int_equal(number(after, "ended", "idle"), 2);
    assert_int_equal(number(after, "limits", TALLY_STARTS), 1);
    assert_null(json_object_get(json_object_get(after, "limits"), "a\"name"));
    assert_null(json_object_get(json_object_get(after, "ended"), ""));
    tally_destroy(&tally);
}

/* Each bucket holds those before it too, as Prometheus wants them. */
static void starts_stand_in_every_bucket_that_is_long_enough(void **state)
{
    tally_t *tally = tally_new();

    (void) state;
    tally_start(tally, 500);       /* the first bound, exactly */
    tally_start(tally, 4000);      /* ms 2.5 to 5 */
    tally_start(tally, 120000000); /* longer than all */
    tally_start(tally, -1);        /* no clock goes back: nothing */
    json_auto_t *after = tally_describe(tally);
    const json_t *starts = json_object_get(after, "starts");
    const json_t *bounds = json_object_get(starts, "bounds");
    const json_t *buckets = json_object_get(starts, "buckets");

    assert_int_equal(json_integer_value(json_object_get(starts, "count")), 4);
    assert_true(json_real_value(json_object_get(starts, "seconds")) > 120.004);
    assert_true(json_real_value(json_object_get(starts, "seconds")) < 120.005);
    assert_int_equal(json_array_size(bounds), json_array_size(buckets));
    for (size_t i = 0; i < json_array_size(bounds); i++) {
        double bound = json_real_value(json_array_get(bounds, i));
        assert_int_equal(json_integer_value(json_array_get(buckets, i)),
                         bound < 0.004 ? 2 : 3);
    }
    tally_destroy(&tally);
}

/* As two sessions tell of theirs. */
static void replies_are_added_up(void **state)
{
    tally_t *tally = tally_new();
    histogram_t one = {0}, other = {0};

    (void) state;
    histogram_note(&one, histogram_round_trip,
                   100); /* the first bound, exactly */
    histogram_note(&one, histogram_round_trip, 60000000); /* the last */
    histogram_note(&other, histogram_round_trip, 101);
    histogram_note(&other, histogram_round_trip, 61000000); /* beyond it */
    histogram_note(&other, histogram_round_trip, -1);
    for (int i = 0; i < 2; i++) {
        cleanup_free char *text = histogram_write(i ? &other : &one);
        tally_trips(tally, text);
    }
    tally_trips(tally, "nonsense");
    json_auto_t *after = tally_describe(tally);
    const json_t *trips = json_object_get(after, "trips");
    const json_t *buckets = json_object_get(trips, "buckets");
    assert_int_equal(json_integer_value(json_object_get(trips, "count")), 5);
    assert_true(json_real_value(json_object_get(trips, "seconds")) > 121.0002);
    assert_true(json_real_value(json_object_get(trips, "seconds")) < 121.0003);
    assert_int_equal(json_array_size(buckets),
                     json_array_size(json_object_get(trips, "bounds")));
    assert_int_equal(json_integer_value(json_array_get(buckets, 0)), 2);
    assert_int_equal(json_integer_value(json_array_get(buckets, 1)), 3);
    assert_int_equal(json_integer_value(json_array_get(buckets, 13)), 4);
    tally_destroy(&tally);
}

/* Count, time and buckets; what stands behind them is passed over. */
static void tells_each_bucket_and_no_more(void **state)
{
    histogram_t one = {.count = 5, .us = 7}, again = {0};
    cleanup_free char *text = histogram_write(&one);
    cleanup_free char *longer = mem_format("%s 9 9 9", text);
    size_t numbers = 1;

    (void) state;
    for (const char *at = text; *at; at++)
        numbers += *at == ' ';
    assert_int_equal(numbers, 2 + HISTOGRAM_BUCKETS);
    histogram_add(&again, longer);
    assert_memory_equal(&again, &one, sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_there_before_they_happen),
        cmocka_unit_test(counts_what_it_knows_and_nothing_else),
        cmocka_unit_test(replies_are_added_up),
        cmocka_unit_test(tells_each_bucket_and_no_more),
        cmocka_unit_test(starts_stand_in_every_bucket_that_is_long_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
