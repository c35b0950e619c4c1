/* What a launch reports to its session, over a loop that is replaced: nothing,
 * a fault, or what cannot be read. */
#include "gateway/session/kernel/kernel_link.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FD_MAX 99 /* of the test's descriptors */

static short watched[FD_MAX + 1]; /* by the loop, by descriptor */

int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg);
void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item);
void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item);

int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg)
{
    (void) self;
    (void) handler;
    (void) arg;
    watched[item->fd] = item->events;
    return 0;
}

void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    watched[item->fd] = 0;
}

void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    (void) item;
}

static int begin(void **state)
{
    static const kernel_link_ops_t ops;

    memset(watched, 0, sizeof watched);
    *state = kernel_link_new(NULL, &ops, NULL);
    return 0;
}

static int end(void **state)
{
    kernel_link_t *self = *state;

    kernel_link_destroy(&self);
    return 0;
}

static int count_watched(void)
{
    int count = 0;

    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        count += watched[i] != 0;
    return count;
}

static int open_status(kernel_link_t *self)
{
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    assert_true(fds[0] <= FD_MAX);
    kernel_link_watch_status(self, fds[0]);
    assert_int_equal(watched[fds[0]], ZMQ_POLLIN | ZMQ_POLLERR);
    return fds[1];
}

static void a_launch_that_says_nothing_is_waited_for(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault;
    int fd;

    assert_int_equal(kernel_link_read_status(self, &fault), 0);
    fd = open_status(self);
    assert_int_equal(kernel_link_read_status(self, &fault), 0);
    assert_int_equal(count_watched(), 1);
    close(fd); /* all went well */
    assert_int_equal(kernel_link_read_status(self, &fault), 0);
    assert_int_equal(count_watched(), 0);
}

static void a_fault_is_read_once_and_whole(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault = {0}, sent = {.code = ESTALE, .text = "changed"};
    int fd = open_status(self);

    assert_int_equal(write(fd, &sent, sizeof sent), sizeof sent);
    assert_int_equal(kernel_link_read_status(self, &fault), 1);
    assert_int_equal(fault.code, ESTALE);
    assert_string_equal(fault.text, "changed");
    assert_int_equal(kernel_link_read_status(self, &fault), 0);
    close(fd);
    fd = open_status(self);
    assert_int_equal(write(fd, &sent, 3), 3);
    errno = EAGAIN; /* of something else */
    assert_int_equal(kernel_link_read_status(self, &fault), 0);
    assert_int_equal(count_watched(), 0);
    close(fd);
}

static void a_status_that_cannot_be_read_is_forgotten(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault;
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_in_range(fd, 0, FD_MAX);
    kernel_link_watch_status(self, fd);
    assert_int_equal(kernel_link_read_status(self, &fault), 0);
    assert_int_equal(count_watched(), 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void the_status_may_have_any_descriptor(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault = {0}, sent = {.code = ESTALE};
    int saved = dup(STDIN_FILENO), fd;

    close(STDIN_FILENO);
    fd = open_status(self);
    assert_int_equal(watched[0], ZMQ_POLLIN | ZMQ_POLLERR);
    assert_int_equal(write(fd, &sent, sizeof sent), sizeof sent);
    assert_int_equal(kernel_link_read_status(self, &fault), 1);
    assert_int_equal(fault.code, ESTALE);
    assert_int_equal(count_watched(), 0);
    close(fd);
    fd = open_status(self);
    kernel_link_destroy(&self);
    *state = NULL;
    assert_int_equal(fcntl(0, F_GETFD), -1);
    close(fd);
    dup2(saved, STDIN_FILENO);
    close(saved);
}

static void a_status_that_was_forgotten_is_not_read(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault, sent = {.code = ESTALE};
    int fd = open_status(self);

    assert_int_equal(write(fd, &sent, sizeof sent), sizeof sent);
    kernel_link_forget_status(self);
    assert_int_equal(kernel_link_read_status(self, &fault), 0);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_launch_that_says_nothing_is_waited_for),
        TEST(a_fault_is_read_once_and_whole),
        TEST(a_status_that_cannot_be_read_is_forgotten),
        TEST(the_status_may_have_any_descriptor),
        TEST(a_status_that_was_forgotten_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
