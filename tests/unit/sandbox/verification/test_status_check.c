/* Texts of /proc/PID/status: those of pid 1 and of the payload, and each line
 * that may not be otherwise. */
#include "sandbox/verification/status_check.h"
#include "tests/lib/test.h"

#include "base/capability.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NONE "0000000000000000"
#define KILL "0000000000000020"

static const char payload_text[] = "Name:\tpython3\n"
                                   "Uid:\t70\t70\t70\t70\n"
                                   "Gid:\t71\t71\t71\t71\n"
                                   "Groups:\t\n"
                                   "NSpid:\t4711\t3\n"
                                   "CapInh:\t" NONE "\n"
                                   "CapPrm:\t" NONE "\n"
                                   "CapEff:\t" NONE "\n"
                                   "CapBnd:\t" NONE "\n"
                                   "CapAmb:\t" NONE "\n"
                                   "NoNewPrivs:\t1\n"
                                   "Seccomp:\t2\n"
                                   "Seccomp_filters:\t1\n";
static const char init_text[] = "Name:\thearth-init\n"
                                "Uid:\t80\t80\t80\t80\n"
                                "Gid:\t81\t81\t81\t81\n"
                                "Groups:\t\n"
                                "NSpid:\t4710\t1\n"
                                "CapInh:\t" KILL "\n"
                                "CapPrm:\t" KILL "\n"
                                "CapEff:\t" KILL "\n"
                                "CapBnd:\t" NONE "\n"
                                "CapAmb:\t" KILL "\n"
                                "NoNewPrivs:\t1\n"
                                "Seccomp:\t2\n";
static const verification_t with_both = {
    .host_uid = 70, .host_gid = 71, .init_uid = 80, .init_gid = 81};
static const seen_process_t payload = {&with_both, "payload", 4711, false};
static const seen_process_t init = {&with_both, "pid 1", 4710, true};

/* Checks the text with the first `from` replaced by `to`. */
static int check(const seen_process_t *process, const char *text,
                 const char *from, const char *to, fault_t *fault)
{
    const char *at = strstr(text, from);
    char changed[1024];

    assert_non_null(at);
    (void) snprintf(changed, sizeof changed, "%.*s%s%s", (int) (at - text),
                    text, to, at + strlen(from));
    return status_check(process, changed, fault);
}

static void passes_the_two_processes_of_a_session(void **state)
{
    const verification_t with_one = {.host_uid = 70, .host_gid = 71};
    const seen_process_t shared = {&with_one, "pid 1", 4711, true};
    fault_t fault;

    (void) state;
    assert_int_equal(status_check(&payload, payload_text, &fault), 0);
    assert_int_equal(status_check(&init, init_text, &fault), 0);
    /* Without a user of its own pid 1 has the payload's, and no capability. */
    assert_int_equal(check(&shared, payload_text, "\t3\n", "\t1\n", &fault), 0);
}

static void names_the_line_that_differs(void **state)
{
    static const struct {
        const char *from, *to, *text;
    } rows[] = {
        {"Uid:\t70", "Uid:\t0",
         "payload: Uid is 0\t70\t70\t70, expected 70\t70\t70\t70"},
        {"Uid:\t70\t70\t70\t70", "Uid:\t70\t70\t70\t0",
         "payload: Uid is 70\t70\t70\t0, expected 70\t70\t70\t70"},
        {"Gid:\t71", "Gid:\t5",
         "payload: Gid is 5\t71\t71\t71, expected 71\t71\t71\t71"},
        {"CapInh:\t" NONE, "CapInh:\t" KILL,
         "payload: CapInh is " KILL ", expected " NONE},
        {"CapPrm:\t" NONE, "CapPrm:\t" KILL,
         "payload: CapPrm is " KILL ", expected " NONE},
        {"CapEff:\t" NONE, "CapEff:\t" KILL,
         "payload: CapEff is " KILL ", expected " NONE},
        {"CapBnd:\t" NONE, "CapBnd:\t" KILL,
         "payload: CapBnd is " KILL ", expected " NONE},
        {"CapAmb:\t" NONE, "CapAmb:\t" KILL,
         "payload: CapAmb is " KILL ", expected " NONE},
        {"NoNewPrivs:\t1", "NoNewPrivs:\t0",
         "payload: NoNewPrivs is 0, expected 1"},
        {"Seccomp:\t2", "Seccomp:\t0", "payload: Seccomp is 0, expected 2"},
        {"NSpid:\t4711\t3", "NSpid:\t4711\t4",
         "payload: NSpid is 4711\t4, expected 3 inside"},
        /* In the reader's own namespace of pids. */
        {"NSpid:\t4711\t3", "NSpid:\t3",
         "payload: NSpid is 3, expected 3 inside"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fault_t fault = {0, ""};

        assert_int_equal(
            check(&payload, payload_text, rows[i].from, rows[i].to, &fault),
            -EPROTO);
        assert_string_equal(fault.text, rows[i].text);
    }
}

static void a_line_that_is_missing_differs(void **state)
{
    static const char *const names[] = {
        "Uid:",    "Gid:",    "CapInh:", "CapPrm:",     "CapEff:",
        "CapBnd:", "CapAmb:", "NSpid:",  "NoNewPrivs:", "Seccomp:"};

    (void) state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fault_t fault = {0, ""};

        assert_int_equal(
            check(&payload, payload_text, names[i], "Other:", &fault), -EPROTO);
        assert_non_null(strstr(fault.text, "is missing, expected "));
    }
}

static void pid_1_may_only_kill(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    assert_int_equal(check(&init, init_text, "CapEff:\t" KILL,
                           "CapEff:\t00000000000000ff", &fault),
                     -EPROTO);
    assert_int_equal(
        check(&init, init_text, "CapBnd:\t" NONE, "CapBnd:\t" KILL, &fault),
        -EPROTO);
    assert_int_equal(check(&init, init_text, "Uid:\t80", "Uid:\t70", &fault),
                     -EPROTO);
    assert_int_equal(check(&init, init_text, "\t1\nCap", "\t3\nCap", &fault),
                     -EPROTO);
    assert_string_equal(fault.text,
                        "pid 1: NSpid is 4710\t3, expected 1 inside");
}

static void groups_count_for_who_could_remove_them(void **state)
{
    int expected = capability_gives_users() ? -EPROTO : 0;
    fault_t fault;

    (void) state;
    assert_int_equal(
        check(&payload, payload_text, "Groups:\t", "Groups:\t0 27", &fault),
        expected);
}

static void does_not_compare_a_wall_that_is_left_out(void **state)
{
    char *without[] = {(char[]){"capabilities"}, (char[]){"seccomp"}, NULL};
    verification_t lax = with_both;
    const seen_process_t process = {&lax, "payload", 4711, false};
    const seen_process_t first = {&lax, "pid 1", 4710, true};
    fault_t fault;

    (void) state;
    lax.without = without;
    assert_int_equal(check(&process, payload_text, "CapEff:\t" NONE,
                           "CapEff:\t" KILL, &fault),
                     0);
    assert_int_equal(
        check(&process, payload_text, "Seccomp:\t2", "Seccomp:\t0", &fault), 0);
    /* The filter of pid 1 cannot be left out. */
    assert_int_equal(
        check(&first, init_text, "Seccomp:\t2", "Seccomp:\t0", &fault),
        -EPROTO);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_the_two_processes_of_a_session),
        cmocka_unit_test(names_the_line_that_differs),
        cmocka_unit_test(a_line_that_is_missing_differs),
        cmocka_unit_test(pid_1_may_only_kill),
        cmocka_unit_test(groups_count_for_who_could_remove_them),
        cmocka_unit_test(does_not_compare_a_wall_that_is_left_out),
    };

    return cmocka_run_group_tests_name("status_check", tests, NULL, NULL);
}
