/* With what a kernel's sandbox is compared. */
#include "gateway/session/lifecycle/sandbox_check.h"

#include "sandbox/users/uid_pool.h"
#include "sandbox/verification/verification.h"
#include "tests/lib/test.h"

#include <errno.h>

static verification_t seen;
static pid_t seen_pid;
static int verdict;

int __wrap_verification_check(pid_t pid, const verification_t *expected,
                              fault_t *fault);

int __wrap_verification_check(pid_t pid, const verification_t *expected,
                              fault_t *fault)
{
    seen_pid = pid;
    seen = *expected;
    return verdict ? fault_set(fault, -verdict, "another one") : 0;
}

static char *without[] = {NULL};
static profile_t profile = {.without = without};
static session_spec_t spec = {
    .profile = &profile,
    .process = {.host_uid = 1234, .init_uid = 1235},
    .limits = {.address_space = 1,
               .file_size = 2,
               .open_files = 3,
               .processes = 4,
               .memory = 5},
};

static int check(sandbox_check_when_t when)
{
    fault_t fault;

    return sandbox_check(&spec, 4711, NULL, when, &fault);
}

static void the_spec_has_the_expected_values(void **state)
{
    (void) state;
    assert_int_equal(check(SANDBOX_CHECK_START), 0);
    assert_int_equal(seen_pid, 4711);
    assert_int_equal(seen.host_uid, 1234);
    assert_int_equal(seen.host_gid, uid_pool_group(1234));
    assert_int_equal(seen.init_uid, 1235);
    assert_int_equal(seen.init_gid, 1235);
    assert_int_equal(seen.limits.address_space, 1);
    assert_int_equal(seen.limits.file_size, 2);
    assert_int_equal(seen.limits.open_files, 3);
    assert_int_equal(seen.limits.processes,
                     profile_process_limit(&spec.limits, false));
    assert_ptr_equal(seen.without, without);
    assert_null(seen.group);
    assert_int_equal(seen.group_limits.memory,
                     profile_group_limits(&spec.limits).memory);
}

static void the_group_counts_processes(void **state)
{
    fault_t fault;
    cgroup_t *group = (cgroup_t *) &spec; /* it is only passed on */

    (void) state;
    assert_int_equal(
        sandbox_check(&spec, 1, group, SANDBOX_CHECK_START, &fault), 0);
    assert_ptr_equal(seen.group, group);
    assert_int_equal(seen.limits.processes,
                     profile_process_limit(&spec.limits, true));
}

static void each_look_has_its_rules(void **state)
{
    (void) state;
    assert_int_equal(check(SANDBOX_CHECK_START), 0);
    assert_false(seen.was_seen);
    assert_false(seen.has_run);
    assert_int_equal(check(SANDBOX_CHECK_AGAIN), 0);
    assert_true(seen.was_seen);
    assert_false(seen.has_run);
    assert_int_equal(check(SANDBOX_CHECK_ADOPTED), 0);
    assert_false(seen.was_seen);
    assert_true(seen.has_run);
}

static void a_difference_is_passed_on(void **state)
{
    (void) state;
    verdict = -EPROTO;
    assert_int_equal(check(SANDBOX_CHECK_START), -EPROTO);
    verdict = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spec_has_the_expected_values),
        cmocka_unit_test(the_group_counts_processes),
        cmocka_unit_test(each_look_has_its_rules),
        cmocka_unit_test(a_difference_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
