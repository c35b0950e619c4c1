/* Texts of /proc/PID/limits, and the limits of a session. */
#include "sandbox/verification/limits_check.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE(name, hard) name "  " hard "  " hard "  units\n"

static const char text[] =
    LINE("Max cpu time", "unlimited") LINE("Max file size", "1000")
        LINE("Max core file size", "0") LINE("Max processes", "64")
            LINE("Max open files", "256") LINE("Max address space", "2000")
                LINE("Max pending signals", "1024")
                    LINE("Max msgqueue size", "0")
                        LINE("Max realtime priority", "0");
static const verification_t expected = {.limits = {.file_size = 1000,
                                                   .processes = 64,
                                                   .open_files = 256,
                                                   .address_space = 2000}};
static const seen_process_t payload = {&expected, "payload", 4711, false};

/* Checks the text with the line of that name replaced. */
static int check(const seen_process_t *process, const char *name,
                 const char *line, fault_t *fault)
{
    const char *at = strstr(text, name);
    char changed[1024];

    assert_non_null(at);
    (void) snprintf(changed, sizeof changed, "%.*s%s%s", (int) (at - text),
                    text, line, strchr(at, '\n') + 1);
    return limits_check(process, changed, fault);
}

static void passes_limits_that_are_ours_or_lower(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(limits_check(&payload, text, &fault), 0);
    assert_int_equal(
        check(&payload, "Max open files", LINE("Max open files", "64"), &fault),
        0);
    assert_int_equal(check(&payload, "Max pending signals",
                           LINE("Max pending signals", "7"), &fault),
                     0);
}

static void names_a_limit_that_is_higher(void **state)
{
    static const char *const rows[][2] = {
        {"Max core file size", "1"},     {"Max msgqueue size", "819200"},
        {"Max realtime priority", "99"}, {"Max pending signals", "1025"},
        {"Max open files", "257"},       {"Max file size", "1001"},
        {"Max processes", "65"},         {"Max address space", "2001"},
        {"Max processes", "unlimited"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fault_t fault = {0, ""};
        char line[128];

        /* The hard limit counts: a process may raise the soft one to it. */
        (void) snprintf(line, sizeof line, "%s  0  %s  units\n", rows[i][0],
                        rows[i][1]);
        assert_int_equal(check(&payload, rows[i][0], line, &fault), -EPROTO);
        (void) snprintf(line, sizeof line, "payload: %s is %s, expected ",
                        rows[i][0], rows[i][1]);
        assert_ptr_equal(strstr(fault.text, line), fault.text);
    }
}

static void a_limit_that_is_missing_differs(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    assert_int_equal(check(&payload, "Max open files", "", &fault), -EPROTO);
    assert_string_equal(
        fault.text, "payload: Max open files is missing, expected 256 at most");
}

static void compares_nothing_with_a_limit_of_0(void **state)
{
    const verification_t unlimited = {.host_uid = 70};
    const seen_process_t process = {&unlimited, "payload", 4711, false};
    fault_t fault;

    (void) state;
    assert_int_equal(check(&process, "Max address space",
                           LINE("Max address space", "unlimited"), &fault),
                     0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_limits_that_are_ours_or_lower),
        cmocka_unit_test(names_a_limit_that_is_higher),
        cmocka_unit_test(a_limit_that_is_missing_differs),
        cmocka_unit_test(compares_nothing_with_a_limit_of_0),
    };

    return cmocka_run_group_tests_name("limits_check", tests, NULL, NULL);
}
