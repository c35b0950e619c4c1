#include "base/log.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char written[4096];
static int pipe_out;
static int real_stderr;

static int catch_stderr(void **state)
{
    (void) state;
    int ends[2];
    if (pipe(ends) < 0)
        return -1;
    pipe_out = ends[0];
    real_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    unsetenv("JOURNAL_STREAM");
    log_set_level(LOG_LEVEL_INFO);
    return 0;
}

static int release_stderr(void **state)
{
    (void) state;
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    close(pipe_out);
    return 0;
}

static const char *read_log(void)
{
    ssize_t size = read(pipe_out, written, sizeof written - 1);
    written[size > 0 ? size : 0] = '\0';
    return written;
}

static void writes_a_line_with_time_and_level(void **state)
{
    (void) state;
    log_warning("session=%s reason=%s", "s1", "memory");
    const char *line = read_log();
    assert_int_equal(line[10], 'T');
    assert_string_equal(line + 27, " warning session=s1 reason=memory\n");
}

static void leaves_the_time_to_journald(void **state)
{
    (void) state;
    setenv("JOURNAL_STREAM", "8:1", 1);
    log_error("event=end");
    assert_string_equal(read_log(), "<3>event=end\n");
}

static void says_nothing_below_its_level(void **state)
{
    (void) state;
    log_debug("hidden=1");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("shown=1");
    const char *line = read_log();
    assert_null(strstr(line, "hidden"));
    assert_non_null(strstr(line, " debug shown=1\n"));
}

static void lets_no_value_make_a_line_of_its_own(void **state)
{
    (void) state;
    errno = ENOENT;
    log_notice("name=%s", "a\nb\x1b[2J");
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(read_log(), " info name=a?b?[2J\n"));
}

static void cuts_a_line_that_is_too_long(void **state)
{
    (void) state;
    char wide[3000];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    log_notice("%s", wide);
    const char *line = read_log();
    assert_int_equal(strlen(line), 1024);
    assert_int_equal(line[1023], '\n');
}

static void knows_the_names_of_its_levels(void **state)
{
    (void) state;
    log_level_t level = LOG_LEVEL_INFO;
    assert_int_equal(log_level_parse("debug", &level), 0);
    assert_int_equal(level, LOG_LEVEL_DEBUG);
    assert_int_equal(log_level_parse("loud", &level), -EINVAL);
    assert_int_equal(level, LOG_LEVEL_DEBUG);
}

#define WITH_STDERR(test)                                                      \
    cmocka_unit_test_setup_teardown(test, catch_stderr, release_stderr)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STDERR(writes_a_line_with_time_and_level),
        WITH_STDERR(leaves_the_time_to_journald),
        WITH_STDERR(says_nothing_below_its_level),
        WITH_STDERR(lets_no_value_make_a_line_of_its_own),
        WITH_STDERR(cuts_a_line_that_is_too_long),
        cmocka_unit_test(knows_the_names_of_its_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
