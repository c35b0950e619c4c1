/* Launches that are refused before anything is made. */
#include "sandbox/launch/launch_check.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A launch by the caller as itself. */
static sandbox_launch_t own_launch(void)
{
    return (sandbox_launch_t){.workspace_fd = 3,
                              .link_fd = 4,
                              .init_fd = 5,
                              .status_fd = 6,
                              .host_uid = geteuid(),
                              .host_gid = getegid()};
}

/* A launch by a caller that can give users. */
static sandbox_launch_t privileged_launch(void)
{
    sandbox_launch_t launch = own_launch();

    launch.host_uid = 70;
    launch.host_gid = 71;
    return launch;
}

static void refuses(const sandbox_launch_t *launch, bool privileged, int code,
                    const char *word)
{
    fault_t fault = {0, ""};

    assert_int_equal(launch_check(launch, privileged, &fault), -code);
    assert_non_null(strstr(fault.text, word));
}

static void passes_a_launch_that_can_be_tried(void **state)
{
    sandbox_launch_t own = own_launch(), given = privileged_launch();
    fault_t fault;

    (void) state;
    assert_int_equal(launch_check(&own, false, &fault), 0);
    assert_int_equal(launch_check(&given, true, &fault), 0);
    /* Above the standard streams each number will do. */
    given.workspace_fd = given.link_fd = given.init_fd = given.status_fd = 3;
    given.init_uid = 80;
    given.mapper_fd = 3;
    given.cgroup_count = 8;
    assert_int_equal(launch_check(&given, true, &fault), 0);
    given.cgroup_count = 1;
    given.is_cgroup_folder = true;
    assert_int_equal(launch_check(&given, true, &fault), 0);
}

static void needs_its_descriptors(void **state)
{
    sandbox_launch_t launches[4];

    (void) state;
    for (size_t i = 0; i < 4; i++)
        launches[i] = own_launch();
    launches[0].workspace_fd = 2;
    launches[1].link_fd = 2;
    launches[2].init_fd = -1;
    launches[3].status_fd = 0;
    for (size_t i = 0; i < 4; i++)
        refuses(&launches[i], false, EBADF, "four descriptors");
    launches[0] = own_launch();
    launches[0].mapper_fd = 2;
    refuses(&launches[0], false, EBADF, "mapper");
}

static void a_control_group_is_one_folder_or_some_files(void **state)
{
    sandbox_launch_t launch = own_launch();

    (void) state;
    launch.cgroup_count = 9;
    refuses(&launch, false, EINVAL, "at most 8 files");
    launch.cgroup_count = 2;
    launch.is_cgroup_folder = true;
    refuses(&launch, false, EINVAL, "one folder");
    launch.cgroup_count = 0;
    refuses(&launch, false, EINVAL, "one folder");
}

static void no_kernel_runs_as_root(void **state)
{
    sandbox_launch_t launch = privileged_launch();

    (void) state;
    launch.host_uid = 0;
    refuses(&launch, true, EPERM, "never runs as root");
    launch.host_uid = 70;
    launch.host_gid = 0;
    refuses(&launch, true, EPERM, "never runs as root");
}

static void only_some_callers_give_other_users(void **state)
{
    sandbox_launch_t launch = own_launch();

    (void) state;
    launch.init_uid = 80;
    refuses(&launch, false, EPERM, "a user of its own");
    launch = own_launch();
    launch.host_uid++;
    refuses(&launch, false, EPERM, "another user than its own");
    launch = own_launch();
    launch.host_gid++;
    refuses(&launch, false, EPERM, "another user than its own");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_a_launch_that_can_be_tried),
        cmocka_unit_test(needs_its_descriptors),
        cmocka_unit_test(a_control_group_is_one_folder_or_some_files),
        cmocka_unit_test(no_kernel_runs_as_root),
        cmocka_unit_test(only_some_callers_give_other_users),
    };

    return cmocka_run_group_tests_name("launch_check", tests, NULL, NULL);
}
