/* The end of a kernel whose pid 1 takes its time. */
#include "tests/lib/test.h"

#include "base/cleanup.h"
#include "base/fd.h"
#include "kernels/kernel.h"

#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 60000

/* Represents a session: the end of the first one takes until it is permitted.
 */
typedef struct {
    char folder[32];
    pid_t init;
    pid_t payload;
    int alive; /* its end comes when the payload does not live any more */
    int listener;
    kernel_t *kernel;
} started_kernel_t;

static _Noreturn void be_init(int ready, int alive)
{
    pid_t payload;

    (void) ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void) raise(SIGSTOP);
    payload = fork();
    if (payload > 0) {
        close(alive);
        (void) !write(ready, &payload, sizeof payload);
    }
    for (;;)
        pause();
}

static void start(started_kernel_t *self, bool shares_user)
{
    cleanup_free char *path = NULL;
    fault_t fault = {0};
    int ready[2];
    int alive[2];

    *self = (started_kernel_t){.folder = "/tmp/hearth-test-XXXXXX"};
    assert_non_null(mkdtemp(self->folder));
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(alive), 0);
    self->init = fork();
    assert_true(self->init >= 0);
    if (self->init == 0)
        be_init(ready[1], alive[1]);
    close(alive[1]);
    self->alive = alive[0];
    assert_int_equal(waitpid(self->init, NULL, WUNTRACED), self->init);
    assert_int_equal(
        ptrace(PTRACE_SETOPTIONS, self->init, NULL, PTRACE_O_TRACEEXIT), 0);
    assert_int_equal(ptrace(PTRACE_CONT, self->init, NULL, NULL), 0);
    assert_int_equal(read(ready[0], &self->payload, sizeof self->payload),
                     sizeof self->payload);
    close(ready[0]);
    close(ready[1]);

    path = mem_format("%s/init.sock", self->folder);
    assert_int_equal(fd_listen_unix(path, &self->listener, &fault), 0);
    assert_int_equal(
        kernel_new(self->folder, shares_user, &self->kernel, &fault), 0);
    kernel_set_process(self->kernel, self->init,
                       (int) syscall(SYS_pidfd_open, self->init, 0));
}

/* It was killed, and waits where it ends. */
static void finish(started_kernel_t *self)
{
    fault_t fault;
    int status;

    assert_int_equal(waitpid(self->init, &status, 0), self->init);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_CONT, self->init, NULL, NULL), 0);
    assert_int_equal(waitpid(self->init, &status, 0), self->init);
    assert_true(WIFSIGNALED(status));
    kernel_destroy(&self->kernel);
    close(self->listener);
    close(self->alive);
    assert_int_equal(path_remove_tree(self->folder, &fault), 0);
}

static void kills_processes_that_could_have_slowed_pid_1(void **state)
{
    struct pollfd end = {.events = POLLIN};
    started_kernel_t session;

    (void) state;
    start(&session, true);
    kernel_kill(session.kernel);
    end.fd = session.alive;
    assert_int_equal(poll(&end, 1, WAIT_MS), 1);
    finish(&session);
}

/* The system does so when pid 1 ends, which nothing below it delays. */
static void leaves_other_processes_to_the_system(void **state)
{
    struct pollfd end = {.events = POLLIN};
    started_kernel_t session;

    (void) state;
    start(&session, false);
    kernel_kill(session.kernel);
    end.fd = session.alive;
    assert_int_equal(poll(&end, 1, 0), 0);
    assert_int_equal(kill(session.payload, SIGKILL), 0);
    finish(&session);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_processes_that_could_have_slowed_pid_1),
        cmocka_unit_test(leaves_other_processes_to_the_system),
    };

    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
