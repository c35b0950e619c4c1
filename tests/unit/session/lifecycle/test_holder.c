/* The process that a session belongs to is watched until it ends. */
#include "gateway/session/lifecycle/holder.h"

#include "base/pidfd.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 30000

static int ends; /* how often the end was reported */

static void on_end(void *arg)
{
    (void) arg;
    ends++;
}

static int end_loop(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    (void) arg;
    return -1;
}

/* Lets the loop see what there is. */
static void turn(zloop_t *loop)
{
    zloop_timer(loop, 1, 1, end_loop, NULL);
    (void) zloop_start(loop);
}

static holder_id_t start_child(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void) pause();
        _exit(0);
    }
    return (holder_id_t){pid, pidfd_start_time(pid)};
}

static void kill_child(const holder_id_t *id)
{
    fault_t fault;
    int fd;

    assert_int_equal(pidfd_find(id->pid, id->start_time, &fd, &fault), 0);
    assert_int_equal(kill(id->pid, SIGKILL), 0);
    assert_true(pidfd_ends(fd, WAIT_MS));
    close(fd);
}

static zloop_t *make_loop(void)
{
    zloop_t *loop = zloop_new();

    zloop_set_nonstop(loop, true);
    ends = 0;
    return loop;
}

static void reports_the_end_once(void **state)
{
    zloop_t *loop = make_loop();
    cleanup_holder holder_t *holder = holder_new(loop, on_end, NULL);
    holder_id_t id = start_child();
    fault_t fault;

    (void) state;
    assert_int_equal(holder_watch(holder, &id, &fault), 0);
    turn(loop);
    assert_int_equal(ends, 0);
    assert_false(holder_has_ended(holder));
    kill_child(&id);
    /* Known before the loop has turned. */
    assert_true(holder_has_ended(holder));
    turn(loop);
    turn(loop);
    assert_int_equal(ends, 1);
    assert_true(holder_has_ended(holder));
    assert_int_equal(waitpid(id.pid, NULL, 0), id.pid);
    zloop_destroy(&loop);
}

static void a_session_without_a_process_is_never_over(void **state)
{
    const holder_id_t none = {0};
    zloop_t *loop = make_loop();
    cleanup_holder holder_t *holder = holder_new(loop, on_end, NULL);
    fault_t fault;

    (void) state;
    assert_int_equal(holder_watch(holder, &none, &fault), 0);
    assert_false(holder_has_ended(holder));
    holder_forget(holder);
    turn(loop);
    assert_int_equal(ends, 0);
    zloop_destroy(&loop);
}

static void a_forgotten_process_may_end(void **state)
{
    zloop_t *loop = make_loop();
    cleanup_holder holder_t *holder = holder_new(loop, on_end, NULL);
    holder_id_t id = start_child();
    fault_t fault;

    (void) state;
    assert_int_equal(holder_watch(holder, &id, &fault), 0);
    holder_forget(holder);
    kill_child(&id);
    turn(loop);
    assert_int_equal(ends, 0);
    assert_false(holder_has_ended(holder));
    assert_int_equal(waitpid(id.pid, NULL, 0), id.pid);
    zloop_destroy(&loop);
}

static void a_process_that_has_ended_is_not_watched(void **state)
{
    zloop_t *loop = make_loop();
    cleanup_holder holder_t *holder = holder_new(loop, on_end, NULL);
    holder_id_t id = start_child();
    fault_t fault;

    (void) state;
    kill_child(&id);
    assert_int_equal(waitpid(id.pid, NULL, 0), id.pid);
    assert_int_equal(holder_watch(holder, &id, &fault), -ESRCH);
    assert_false(holder_has_ended(holder));
    zloop_destroy(&loop);
}

/* Returns the descriptor that would be opened next. */
static int next_fd(void)
{
    int fd = dup(STDERR_FILENO);

    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void a_watch_leaves_no_descriptor(void **state)
{
    zloop_t *loop = make_loop();
    holder_t *holder = holder_new(loop, on_end, NULL);
    holder_id_t id = start_child();
    const int fd = next_fd();
    fault_t fault;

    (void) state;
    assert_int_equal(holder_watch(holder, &id, &fault), 0);
    assert_true(next_fd() > fd);
    holder_forget(holder);
    assert_int_equal(next_fd(), fd);
    assert_int_equal(holder_watch(holder, &id, &fault), 0);
    zloop_destroy(&loop);
    holder_destroy(&holder);
    assert_null(holder);
    assert_int_equal(next_fd(), fd);
    holder_destroy(&holder);
    kill_child(&id);
    assert_int_equal(waitpid(id.pid, NULL, 0), id.pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_the_end_once),
        cmocka_unit_test(a_session_without_a_process_is_never_over),
        cmocka_unit_test(a_forgotten_process_may_end),
        cmocka_unit_test(a_process_that_has_ended_is_not_watched),
        cmocka_unit_test(a_watch_leaves_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
