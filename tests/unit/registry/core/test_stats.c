/* What has happened is counted under names that are known; starts by how long
 * they took. The times are the test's. */
#include "gateway/metrics/histogram.h"
#include "gateway/registry/core/stats.h"

#include "gateway/session/lifecycle/end_cause.h"
#include "protocol/session_limits.h"
#include "tests/lib/test.h"

static json_int_t number(const json_t *object, const char *group,
                         const char *name)
{
    return json_integer_value(
        json_object_get(json_object_get(object, group), name));
}

static void counters_exist_before_their_first_event(void **state)
{
    stats_t *tally = stats_new();
    json_auto_t *before = stats_describe(tally);

    (void) state;
    assert_non_null(json_object_get(json_object_get(before, "ended"), "idle"));
    assert_null(json_object_get(json_object_get(before, "ended"), "none"));
    assert_int_equal(number(before, "limits", "memory"), 0);
    assert_int_equal(number(before, "starts", "count"), 0);
    stats_destroy(&tally);
    assert_null(tally);
}

static const json_t *find(const json_t *object, const char *group,
                          const char *name)
{
    return json_object_get(json_object_get(object, group), name);
}

/* A limit has a counter unless it has an effect without a word. */
static void every_end_and_limit_has_a_counter(void **state)
{
    static const char *const others[] = {"wall",         "output",
                                         "workspace",    "message_memory",
                                         STATS_SESSIONS, STATS_STARTS};
    stats_t *tally = stats_new();
    json_auto_t *before = stats_describe(tally);
    size_t silent = 0;

    (void) state;
    for (size_t i = 0; i < SESSION_LIMIT_COUNT; i++) {
        bool is_silent = session_limits[i].reached == SESSION_LIMIT_SILENT;

        silent += is_silent;
        assert_int_equal(!find(before, "limits", session_limits[i].name),
                         is_silent);
    }
    assert_true(silent > 0 && silent < SESSION_LIMIT_COUNT);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_non_null(find(before, "limits", others[i]));
#define X(name, text)                                                          \
    assert_int_equal(!find(before, "ended", text),                             \
                     END_REASON_##name == END_REASON_NONE);
    END_REASONS(X)
#undef X
    stats_destroy(&tally);
}

static void counts_known_names_only(void **state)
{
    stats_t *tally = stats_new();

    (void) state;
    stats_end(tally, "idle");
    stats_end(tally, "idle");
    stats_limit(tally, STATS_STARTS);
    stats_limit(tally, "a\"name");
    stats_end(tally, "");
    json_auto_t *after = stats_describe(tally);
    assert_int_equal(number(after, "ended", "idle"), 2);
    assert_int_equal(number(after, "limits", STATS_STARTS), 1);
    assert_null(json_object_get(json_object_get(after, "limits"), "a\"name"));
    assert_null(json_object_get(json_object_get(after, "ended"), ""));
    stats_destroy(&tally);
}

/* Each bucket holds those before it too, as Prometheus wants them. */
static void starts_are_in_each_bucket_that_is_long_enough(void **state)
{
    static const double expected[] = {0.0005, 0.001, 0.0025, 0.005, 0.01,
                                      0.025,  0.05,  0.1,    0.25,  0.5,
                                      1,      2.5,   10,     60};
    stats_t *tally = stats_new();

    (void) state;
    stats_start(tally, 500);       /* the first bound, exactly */
    stats_start(tally, 4000);      /* ms 2.5 to 5 */
    stats_start(tally, 120000000); /* longer than all */
    stats_start(tally, -1);        /* no clock goes back: nothing */
    json_auto_t *after = stats_describe(tally);
    const json_t *starts = json_object_get(after, "starts");
    const json_t *bounds = json_object_get(starts, "bounds");
    const json_t *buckets = json_object_get(starts, "buckets");

    assert_int_equal(json_integer_value(json_object_get(starts, "count")), 4);
    assert_true(json_real_value(json_object_get(starts, "seconds")) > 120.004);
    assert_true(json_real_value(json_object_get(starts, "seconds")) < 120.005);
    assert_int_equal(json_array_size(bounds), json_array_size(buckets));
    assert_int_equal(json_array_size(bounds),
                     sizeof expected / sizeof *expected);
    for (size_t i = 0; i < json_array_size(bounds); i++) {
        double bound = json_real_value(json_array_get(bounds, i));
        assert_true(bound > expected[i] * 0.999 && bound < expected[i] * 1.001);
        assert_int_equal(json_integer_value(json_array_get(buckets, i)),
                         bound < 0.004 ? 2 : 3);
    }
    stats_destroy(&tally);
}

/* Two sessions report theirs. */
static void replies_are_added_up(void **state)
{
    stats_t *tally = stats_new();
    histogram_t one = {0}, other = {0};

    (void) state;
    histogram_note(&one, histogram_round_trip,
                   100); /* the first bound, exactly */
    histogram_note(&one, histogram_round_trip, 60000000); /* the last */
    histogram_note(&other, histogram_round_trip, 101);
    histogram_note(&other, histogram_round_trip, 61000000); /* beyond it */
    histogram_note(&other, histogram_round_trip, -1);
    stats_round_trips(tally, &one);
    stats_round_trips(tally, &other);
    json_auto_t *after = stats_describe(tally);
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
    stats_destroy(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_exist_before_their_first_event),
        cmocka_unit_test(every_end_and_limit_has_a_counter),
        cmocka_unit_test(counts_known_names_only),
        cmocka_unit_test(replies_are_added_up),
        cmocka_unit_test(starts_are_in_each_bucket_that_is_long_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
