#include "base/clock.h"
#include "tests/lib/test.h"

static void writes_six_digits_and_z(void **state)
{
    (void) state;
    char text[CLOCK_ISO_SIZE];
    clock_iso(1767323045000006, text);
    assert_string_equal(text, "2026-01-02T03:04:05.000006Z");
    clock_iso(951782399999999, text);
    assert_string_equal(text, "2000-02-28T23:59:59.999999Z");
}

static void keeps_to_years_of_four_digits(void **state)
{
    (void) state;
    char text[CLOCK_ISO_SIZE];
    clock_iso(-1, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
    clock_iso(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999999Z");
    clock_iso(INT64_MIN, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
}

static void reads_what_it_writes(void **state)
{
    (void) state;
    int64_t wall_us = 0;
    assert_true(clock_read_iso("2026-01-02T03:04:05.000006Z", &wall_us));
    assert_int_equal(wall_us, 1767323045000006);
    assert_true(clock_read_iso("2026-01-02T03:04:05Z", &wall_us));
    assert_int_equal(wall_us, 1767323045000000);
    wall_us = 7;
    assert_false(clock_read_iso("", &wall_us));
    assert_false(clock_read_iso("yesterday", &wall_us));
    assert_false(clock_read_iso("2026-01-02T03:04:99Z", &wall_us));
    assert_int_equal(wall_us, 7);
}

static void runs_forward(void **state)
{
    (void) state;
    int64_t first = clock_monotonic_ms();
    assert_true(clock_monotonic_ms() >= first);
    assert_true(clock_monotonic_us() / 1000 >= first);
    assert_true(clock_monotonic_us() / 1000 <= clock_monotonic_ms());
    assert_true(clock_wall_us() > 1700000000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_six_digits_and_z),
        cmocka_unit_test(keeps_to_years_of_four_digits),
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(runs_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
