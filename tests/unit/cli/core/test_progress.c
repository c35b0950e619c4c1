/* How far a copy has come, without a terminal. Time passes when the test says
 * so. */
#include "gateway/cli/core/progress.h"

#include "base/fd.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int64_t now_ms;

int64_t __wrap_clock_monotonic_ms(void);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

/* What standard error is meanwhile, and was. */
static FILE *said;
static int before;

static int catch_errors(void **state)
{
    (void) state;
    now_ms = 1000;
    said = tmpfile();
    before = dup(STDERR_FILENO);
    return said && before >= 0 && dup2(fileno(said), STDERR_FILENO) >= 0 ? 0
                                                                         : -1;
}

static int release_errors(void **state)
{
    (void) state;
    dup2(before, STDERR_FILENO);
    close(before);
    return fclose(said);
}

/* Returns what was said, for the caller to free. */
static char *read_said(void)
{
    static char text[65536];
    ssize_t size = pread(fileno(said), text, sizeof text, 0);

    assert_true(size >= 0);
    return mem_copy(text, (size_t) size);
}

static void says_how_far_it_has_come_after_a_second(void **state)
{
    progress_t *progress = progress_new("a.csv", 0);

    (void) state;
    progress_say_lines(progress);
    progress_show(progress, 1024);
    now_ms += 999;
    progress_show(progress, 2048);
    now_ms += 1001;
    progress_show(progress, 0); /* nothing has come */
    progress_show(progress, 4096);
    progress_show(progress, 5000); /* too early */
    progress_expect(progress, 8192);
    now_ms += 2000;
    progress_show(progress, 8192);
    progress_destroy(&progress);
    cleanup_free char *text = read_said();
    assert_string_equal(text, "hearth: a.csv: 4.0 KiB, 2.0 KiB/s\n"
                              "hearth: a.csv: 8.0 KiB of 8.0 KiB, 2.0 KiB/s\n");
}

static void an_hour_has_some_lines(void **state)
{
    progress_t *progress = progress_new("a.csv", 1 << 30);
    size_t lines = 0;

    (void) state;
    progress_say_lines(progress);
    for (uint64_t i = 1; i <= 36000; i++) {
        now_ms += 100;
        progress_show(progress, i);
    }
    progress_destroy(&progress);
    cleanup_free char *text = read_said();
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_in_range(lines, 60, 80);
}

static void a_copy_that_does_not_ask_says_nothing(void **state)
{
    progress_t *progress = progress_new("a.csv", 0);

    (void) state;
    now_ms += 5000;
    progress_show(progress, 1024);
    progress_destroy(&progress);
    cleanup_free char *text = read_said();
    assert_string_equal(text, "");
}

#define CAUGHT(test)                                                           \
    cmocka_unit_test_setup_teardown(test, catch_errors, release_errors)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CAUGHT(says_how_far_it_has_come_after_a_second),
        CAUGHT(an_hour_has_some_lines),
        CAUGHT(a_copy_that_does_not_ask_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
