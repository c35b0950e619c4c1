#include "gateway/session/lifecycle/end_cause.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <string.h>

static bool set_first(end_cause_t *cause, end_reason_t reason,
                      const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool set_first(end_cause_t *cause, end_reason_t reason,
                      const char *format, ...)
{
    va_list args;
    bool is_first;

    va_start(args, format);
    is_first = end_cause_set_first(cause, reason, format, args);
    va_end(args);
    return is_first;
}

static end_cause_t explained(kernel_end_t end, bool has_group)
{
    end_cause_t cause = {0};

    end_cause_explain(&cause, &end, has_group);
    return cause;
}

static void the_first_cause_counts(void **state)
{
    end_cause_t cause = {0};

    (void) state;
    assert_true(set_first(&cause, END_REASON_MEMORY, "%d MiB", 7));
    assert_false(set_first(&cause, END_REASON_CPU, "%d s", 7));
    assert_int_equal(cause.reason, END_REASON_MEMORY);
    assert_string_equal(cause.detail, "7 MiB");
    end_cause_set(&cause, END_REASON_DELETED, "%s", "on request");
    assert_int_equal(cause.reason, END_REASON_DELETED);
    assert_string_equal(cause.detail, "on request");
}

static void an_end_by_itself_is_explained(void **state)
{
    end_cause_t cause = explained((kernel_end_t){0}, false);

    (void) state;
    assert_int_equal(cause.reason, END_REASON_LOST);
    cause = explained((kernel_end_t){.is_known = true, .code = 3}, false);
    assert_int_equal(cause.reason, END_REASON_EXIT);
    assert_string_equal(cause.detail, "the kernel exited with code 3");
    cause = explained(
        (kernel_end_t){.is_known = true, .by_signal = true, .code = SIGSYS},
        false);
    assert_int_equal(cause.reason, END_REASON_SYSCALL);
    assert_non_null(strstr(cause.detail, "that the sandbox forbids"));
    cause = explained(
        (kernel_end_t){.is_known = true, .by_signal = true, .code = SIGSEGV},
        false);
    assert_int_equal(cause.reason, END_REASON_SIGNAL);
    assert_non_null(strstr(cause.detail, "native code"));
    cause = explained(
        (kernel_end_t){.is_known = true, .by_signal = true, .code = SIGTERM},
        false);
    assert_string_equal(cause.detail,
                        "the kernel was killed by signal 15 (Terminated)");
}

static void a_kill_is_not_for_limits_of_the_group(void **state)
{
    const kernel_end_t killed = {
        .is_known = true, .by_signal = true, .code = SIGKILL};

    (void) state;
    assert_non_null(strstr(explained(killed, true).detail,
                           "no limit of the session was reached"));
    assert_null(strstr(explained(killed, false).detail,
                       "no limit of the session was reached"));
}

static void a_known_cause_is_not_explained_again(void **state)
{
    end_cause_t cause = {.reason = END_REASON_WALL, .detail = "too long"};
    const kernel_end_t end = {.is_known = true, .code = 3};

    (void) state;
    end_cause_explain(&cause, &end, false);
    assert_int_equal(cause.reason, END_REASON_WALL);
    assert_string_equal(cause.detail, "too long");
}

static void accidents_permit_a_restart(void **state)
{
    static const end_reason_t planned[] = {
        END_REASON_DELETED, END_REASON_IDLE_TIMEOUT, END_REASON_LIFETIME};

    (void) state;
    for (int i = 0; i < END_REASON_COUNT; i++) {
        end_cause_t cause = {.reason = (end_reason_t) i};
        bool is_planned = false;

        for (size_t k = 0; k < 3; k++)
            is_planned |= planned[k] == cause.reason;
        assert_int_equal(end_cause_is_planned(&cause), is_planned);
        assert_int_equal(end_cause_permits_restart(&cause),
                         !is_planned && i != END_REASON_WORKSPACE
                             && i != END_REASON_LAUNCH);
    }
}

static void reasons_have_names(void **state)
{
    (void) state;
    assert_string_equal(end_reason_name(END_REASON_IDLE_TIMEOUT), "idle");
    assert_string_equal(end_reason_name(END_REASON_PROTOCOL), "protocol");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_cause_counts),
        cmocka_unit_test(an_end_by_itself_is_explained),
        cmocka_unit_test(a_kill_is_not_for_limits_of_the_group),
        cmocka_unit_test(a_known_cause_is_not_explained_again),
        cmocka_unit_test(accidents_permit_a_restart),
        cmocka_unit_test(reasons_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
