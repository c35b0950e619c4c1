/* A process is recognised by its number and the time at which it began. */
#include "base/pidfd.h"

#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 30000

static pid_t start_child(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void) pause();
        _exit(0);
    }
    return pid;
}

static void end_child(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void finds_a_process_and_notices_its_end(void **state)
{
    pid_t pid = start_child();
    uint64_t start_time = pidfd_start_time(pid);
    fault_t fault;
    int fd;

    (void) state;
    assert_true(start_time >= pidfd_start_time(getpid()));
    assert_int_equal(pidfd_find(pid, start_time, &fd, &fault), 0);
    assert_false(pidfd_ends(fd, 0));
    assert_int_equal(kill(pid, SIGKILL), 0);
    /* It has ended before its parent knows. */
    assert_true(pidfd_ends(fd, WAIT_MS));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(pidfd_ends(fd, 0));
    close(fd);
    assert_int_equal(pidfd_start_time(pid), 0);
    assert_int_equal(pidfd_find(pid, start_time, &fd, &fault), -ESRCH);
}

static void another_process_of_that_number_is_not_found(void **state)
{
    pid_t pid = start_child();
    fault_t fault;
    int fd = -1;

    (void) state;
    assert_int_equal(pidfd_find(pid, pidfd_start_time(pid) + 1, &fd, &fault),
                     -ESRCH);
    assert_int_equal(pidfd_find(pid, 0, &fd, &fault), -ESRCH);
    assert_int_equal(fd, -1);
    end_child(pid);
}

static void no_number_is_no_process(void **state)
{
    fault_t fault;
    int fd = -1;

    (void) state;
    assert_int_equal(pidfd_find(0, 1, &fd, &fault), -ESRCH);
    assert_int_equal(pidfd_find(-1, 1, &fd, &fault), -ESRCH);
    assert_int_equal(fd, -1);
}

/* proc(5): the name may hold blanks and parentheses. */
static void reads_past_any_name(void **state)
{
    uint64_t before = pidfd_start_time(getpid());

    (void) state;
    assert_int_equal(prctl(PR_SET_NAME, ") 1 (2) 3 )"), 0);
    assert_int_equal(pidfd_start_time(getpid()), before);
    assert_int_not_equal(before, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_process_and_notices_its_end),
        cmocka_unit_test(another_process_of_that_number_is_not_found),
        cmocka_unit_test(no_number_is_no_process),
        cmocka_unit_test(reads_past_any_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
