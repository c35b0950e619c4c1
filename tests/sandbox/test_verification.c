/* The look from outside: a session as it must be, and one that lacks a wall. */
#include "tests/sandbox/inside.h"

#include "base/clock.h"
#include "sandbox/verification/verification.h"

static verification_t expect_inside(char *const *without)
{
    return (verification_t){.host_uid = inside_uid(),
                            .host_gid = inside_gid(),
                            .init_uid = inside_init_uid(),
                            .init_gid = inside_init_uid(),
                            .limits = {.file_size = 1ULL << 30,
                                       .open_files = 1024,
                                       .processes = 512},
                            .without = without};
}

static void wait_here(int out, void *argument)
{
    (void) argument;
    dprintf(out, "there\n");
    for (;;)
        pause();
}

static void open_and_wait(int out, void *argument)
{
    if (open("/", O_RDONLY | O_DIRECTORY) < 0)
        dprintf(out, "not open\n");
    wait_here(out, argument);
}

static void start_as(inside_t *inside, const sandbox_t *sandbox,
                     void (*payload)(int out, void *argument))
{
    char line[6];

    if (inside_start(inside, sandbox, payload, NULL, NULL, ORPHAN_SECONDS) < 0
        || inside->fault.code != 0)
        fail_msg("%s", inside->fault.text);
    assert_int_equal(recv(inside->link, line, sizeof line, MSG_WAITALL),
                     sizeof line);
}

static void start(inside_t *inside, const sandbox_t *sandbox)
{
    start_as(inside, sandbox, wait_here);
}

/* The example: launch, look, hand out. */
static void passes_a_correct_sandbox(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    verification_t expected = expect_inside(NULL);
    fault_t fault = {0, ""};
    inside_t inside;
    int64_t begun;

    (void) state;
    start(&inside, sandbox);
    if (verification_check(inside.pid, &expected, &fault) < 0)
        fail_msg("%s", fault.text);
    begun = clock_wall_us();
    for (int i = 0; i < 100; i++)
        assert_int_equal(verification_check(inside.pid, &expected, &fault), 0);
    print_message("a look takes %d us\n",
                  (int) (clock_wall_us() - begun) / 100);
    inside_end(&inside);
}

/* Each wall that can be seen from outside: without it the look finds
 * something to say, and with that accepted nothing else. */
static void names_the_wall_that_is_missing(void **state)
{
    static const struct {
        const char *wall;
        const char *said;
    } rows[] = {
        {"network", "ns/net"},
        {"ipc", "ns/ipc"},
        {"uts", "ns/uts"},
        {"cgroup", "ns/cgroup"},
        {"readonly", "expected read-only"},
        {"limits", "Max "},
        {"capabilities", "Cap"},
        {"seccomp", "payload: Seccomp is 0"},
        {"init", "pid 1: dumpable"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cleanup_sandbox sandbox_t *sandbox = inside_describe();
        cleanup_free char *wall = mem_text(rows[i].wall);
        char *without[] = {wall, NULL};
        verification_t strict = expect_inside(NULL);
        verification_t lax = expect_inside(without);
        fault_t fault = {0, ""};
        inside_t inside;

        assert_int_equal(sandbox_accept(sandbox, rows[i].wall, &fault), 0);
        assert_int_equal(sandbox_leave_out(sandbox, rows[i].wall, &fault), 0);
        start(&inside, sandbox);
        assert_int_equal(verification_check(inside.pid, &strict, &fault),
                         -EPROTO);
        if (strstr(fault.text, rows[i].said) == NULL)
            fail_msg("without %s: %s", rows[i].wall, fault.text);
        if (verification_check(inside.pid, &lax, &fault) < 0)
            fail_msg("without %s accepted: %s", rows[i].wall, fault.text);
        inside_end(&inside);
    }
}

static void names_other_differences(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    verification_t expected = expect_inside(NULL);
    fault_t fault = {0, ""};
    inside_t inside;

    (void) state;
    start(&inside, sandbox);
    expected.host_uid++;
    assert_int_equal(verification_check(inside.pid, &expected, &fault),
                     -EPROTO);
    assert_true(strstr(fault.text, "Uid is") || strstr(fault.text, "uid_map"));
    expected = expect_inside(NULL);
    expected.limits.open_files = 100;
    assert_int_equal(verification_check(inside.pid, &expected, &fault),
                     -EPROTO);
    assert_string_equal(fault.text,
                        "pid 1: Max open files is 1024, expected 100 at most");
    /* Of one that has run limits are not compared, and the rest is. */
    expected.has_run = true;
    assert_int_equal(verification_check(inside.pid, &expected, &fault), 0);
    expected.host_uid++;
    assert_int_equal(verification_check(inside.pid, &expected, &fault),
                     -EPROTO);
    /* A process that was never a session. */
    expected = expect_inside(NULL);
    assert_true(verification_check(getpid(), &expected, &fault) < 0);
    inside_end(&inside);
    assert_true(verification_check(inside.pid, &expected, &fault) < 0);
}

/* Properties that cannot change are not read again; its open files are. */
static void checks_open_files_again(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    verification_t expected = expect_inside(NULL);
    fault_t fault = {0, ""};
    inside_t inside;

    (void) state;
    start_as(&inside, sandbox, open_and_wait);
    expected.was_seen = true;
    assert_int_equal(verification_check(inside.pid, &expected, &fault),
                     -EPROTO);
    assert_non_null(strstr(fault.text, "payload: fd/"));
    inside_end(&inside);
    start(&inside, sandbox);
    expected.limits.open_files = 100;
    assert_int_equal(verification_check(inside.pid, &expected, &fault), 0);
    expected.host_uid++;
    assert_int_equal(verification_check(inside.pid, &expected, &fault),
                     -EPROTO);
    assert_non_null(strstr(fault.text, "payload: Uid is"));
    inside_end(&inside);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_a_correct_sandbox),
        cmocka_unit_test(names_the_wall_that_is_missing),
        cmocka_unit_test(names_other_differences),
        cmocka_unit_test(checks_open_files_again),
    };

    return inside_run("verification", tests, sizeof tests / sizeof tests[0]);
}
