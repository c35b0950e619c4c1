/* A session's connection to its kernel, over a kernel and a loop that are
 * replaced: no descriptor is open. What a launch reports is in
 * test_kernel_link_status.c. */
#include "gateway/session/kernel/kernel_link.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define LINK_FD 0 /* a descriptor like others */
#define INIT_FD 101
#define PIDFD   102

/* The kernel, as the link sees it. */
static struct {
    int link_fd, init_fd, pidfd;
    bool is_writing, has_end;
    int refusal; /* of kernel_new and kernel_reconnect; 0: none */
    int hellos, kills, destroyed;
    uint64_t acked;
    bool is_urgent;
    int acknowledgements;
} fake;

/* What the loop watches, by descriptor. */
static struct {
    short events[PIDFD + 1];
    zloop_fn *handlers[PIDFD + 1];
    void *arg;
} loop;

static int inputs, ends, silences;

int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg);
void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item);
void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item);
int __wrap_kernel_new(const char *folder, bool shares_user, kernel_t **ret,
                      fault_t *fault);
void __wrap_kernel_destroy(kernel_t **self_p);
int __wrap_kernel_link_fd(const kernel_t *self);
int __wrap_kernel_init_fd(const kernel_t *self);
int __wrap_kernel_pidfd(const kernel_t *self);
bool __wrap_kernel_is_writing(const kernel_t *self);
void __wrap_kernel_set_process(kernel_t *self, pid_t pid, int pidfd);
int __wrap_kernel_adopt_process(kernel_t *self, pid_t pid, uint64_t start_time,
                                fault_t *fault);
int __wrap_kernel_reconnect(kernel_t *self, const char *folder, fault_t *fault);
void __wrap_kernel_disconnect(kernel_t *self);
int __wrap_kernel_hello(kernel_t *self, uint64_t acked, fault_t *fault);
int __wrap_kernel_acknowledge(kernel_t *self, uint64_t seq, bool now,
                              fault_t *fault);
int __wrap_kernel_send(kernel_t *self, const frame_t *frame, fault_t *fault);
int __wrap_kernel_flush(kernel_t *self, fault_t *fault);
bool __wrap_kernel_read_end(kernel_t *self, kernel_end_t *ret_end);
void __wrap_kernel_kill(kernel_t *self);

int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg)
{
    (void) self;
    assert_int_equal(loop.events[item->fd], 0);
    assert_int_not_equal(item->events, 0);
    loop.events[item->fd] = item->events;
    loop.handlers[item->fd] = handler;
    loop.arg = arg;
    return 0;
}

void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    loop.events[item->fd] = 0;
}

void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    (void) item;
}

int __wrap_kernel_new(const char *folder, bool shares_user, kernel_t **ret,
                      fault_t *fault)
{
    (void) folder;
    (void) shares_user;
    if (fake.refusal)
        return fault_set(fault, fake.refusal, "refused");
    *ret = (kernel_t *) &fake;
    return 0;
}

void __wrap_kernel_destroy(kernel_t **self_p)
{
    if (*self_p)
        fake.destroyed++;
    *self_p = NULL;
}

int __wrap_kernel_link_fd(const kernel_t *self)
{
    (void) self;
    return fake.link_fd;
}

int __wrap_kernel_init_fd(const kernel_t *self)
{
    (void) self;
    return fake.init_fd;
}

int __wrap_kernel_pidfd(const kernel_t *self)
{
    (void) self;
    return fake.pidfd;
}

bool __wrap_kernel_is_writing(const kernel_t *self)
{
    (void) self;
    return fake.is_writing;
}

void __wrap_kernel_set_process(kernel_t *self, pid_t pid, int pidfd)
{
    (void) self;
    (void) pid;
    fake.pidfd = pidfd;
}

int __wrap_kernel_adopt_process(kernel_t *self, pid_t pid, uint64_t start_time,
                                fault_t *fault)
{
    (void) self;
    (void) pid;
    (void) start_time;
    if (fake.refusal)
        return fault_set(fault, fake.refusal, "refused");
    fake.pidfd = PIDFD;
    return 0;
}

int __wrap_kernel_reconnect(kernel_t *self, const char *folder, fault_t *fault)
{
    (void) self;
    (void) folder;
    if (fake.refusal)
        return fault_set(fault, fake.refusal, "refused");
    fake.link_fd = LINK_FD;
    return 0;
}

void __wrap_kernel_disconnect(kernel_t *self)
{
    (void) self;
    fake.link_fd = -1;
}

int __wrap_kernel_hello(kernel_t *self, uint64_t acked, fault_t *fault)
{
    (void) self;
    (void) fault;
    fake.hellos++;
    fake.acked = acked;
    return 0;
}

int __wrap_kernel_acknowledge(kernel_t *self, uint64_t seq, bool now,
                              fault_t *fault)
{
    (void) self;
    fake.acknowledgements++;
    fake.acked = seq;
    fake.is_urgent = now;
    return fake.refusal ? fault_set(fault, fake.refusal, "refused") : 0;
}

int __wrap_kernel_send(kernel_t *self, const frame_t *frame, fault_t *fault)
{
    (void) self;
    (void) frame;
    (void) fault;
    return 0;
}

int __wrap_kernel_flush(kernel_t *self, fault_t *fault)
{
    (void) self;
    (void) fault;
    fake.is_writing = false;
    return 0;
}

bool __wrap_kernel_read_end(kernel_t *self, kernel_end_t *ret_end)
{
    (void) self;
    if (fake.has_end)
        *ret_end = (kernel_end_t){.is_known = true, .code = 3};
    return fake.has_end;
}

void __wrap_kernel_kill(kernel_t *self)
{
    (void) self;
    fake.kills++;
}

static void on_input(void *arg)
{
    (void) arg;
    inputs++;
}

static void on_end(void *arg)
{
    (void) arg;
    ends++;
}

static void on_silent(void *arg)
{
    (void) arg;
    silences++;
}

static const kernel_link_ops_t ops = {
    .on_input = on_input, .on_end = on_end, .on_silent = on_silent};

static int begin(void **state)
{
    memset(&loop, 0, sizeof loop);
    memset(&fake, 0, sizeof fake);
    fake.link_fd = fake.pidfd = -1;
    fake.init_fd = INIT_FD;
    inputs = ends = silences = 0;
    *state = kernel_link_new(NULL, &ops, NULL);
    return 0;
}

static int end(void **state)
{
    kernel_link_t *self = *state;

    kernel_link_destroy(&self);
    assert_null(self);
    return 0;
}

static void open_link(kernel_link_t *self)
{
    fault_t fault;

    assert_int_equal(kernel_link_open(self, "/r", false, &fault), 0);
    assert_int_equal(kernel_link_connect(self, "/r", &fault), 0);
}

static void happens(int fd, short revents)
{
    zmq_pollitem_t item = {.fd = fd, .revents = revents};

    assert_int_equal(loop.handlers[fd](NULL, &item, loop.arg), 0);
}

static void watches_pid_1_the_process_and_the_link(void **state)
{
    kernel_link_t *self = *state;

    assert_null(kernel_link_kernel(self));
    assert_false(kernel_link_is_connected(self));
    open_link(self);
    assert_non_null(kernel_link_kernel(self));
    assert_true(kernel_link_is_connected(self));
    assert_false(kernel_link_has_process(self));
    kernel_link_set_process(self, 7, PIDFD);
    assert_true(kernel_link_has_process(self));
    assert_int_equal(loop.events[LINK_FD], ZMQ_POLLIN | ZMQ_POLLERR);
    assert_int_equal(loop.events[INIT_FD], ZMQ_POLLIN | ZMQ_POLLERR);
    assert_int_equal(loop.events[PIDFD], ZMQ_POLLIN | ZMQ_POLLERR);
    kernel_link_unwatch(self);
    assert_int_equal(loop.events[LINK_FD], 0);
    assert_int_equal(loop.events[INIT_FD], 0);
    assert_int_equal(loop.events[PIDFD], 0);
    assert_false(kernel_link_has_process(self));
    kernel_link_close(self);
    assert_int_equal(fake.kills, 1);
    assert_int_equal(fake.destroyed, 1);
    assert_null(kernel_link_kernel(self));
}

static void gives_the_reason_of_a_refusal(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault;

    fake.refusal = ECONNREFUSED;
    assert_int_equal(kernel_link_open(self, "/r", false, &fault),
                     -ECONNREFUSED);
    assert_null(kernel_link_kernel(self));
    assert_int_equal(loop.events[INIT_FD], 0);
    fake.refusal = 0;
    assert_int_equal(kernel_link_open(self, "/r", false, &fault), 0);
    fake.refusal = ENOENT;
    assert_int_equal(kernel_link_connect(self, "/r", &fault), -ENOENT);
    assert_int_equal(fake.hellos, 0);
}

static void a_held_link_is_not_read(void **state)
{
    kernel_link_t *self = *state;

    open_link(self);
    happens(LINK_FD, ZMQ_POLLIN);
    assert_int_equal(inputs, 1);
    kernel_link_hold(self, true);
    assert_int_equal(loop.events[LINK_FD], 0);
    kernel_link_hold(self, false);
    assert_int_equal(loop.events[LINK_FD], ZMQ_POLLIN | ZMQ_POLLERR);
    happens(LINK_FD, ZMQ_POLLERR);
    assert_int_equal(inputs, 2);
}

static void a_frame_that_does_not_fit_is_written_later(void **state)
{
    kernel_link_t *self = *state;
    frame_t frame = {.type = FRAME_MARK};
    fault_t fault;

    open_link(self);
    assert_int_equal(kernel_link_send(self, &frame, &fault), 0);
    assert_int_equal(loop.events[LINK_FD] & ZMQ_POLLOUT, 0);
    fake.is_writing = true;
    assert_int_equal(kernel_link_send(self, &frame, &fault), 0);
    assert_int_equal(loop.events[LINK_FD],
                     ZMQ_POLLIN | ZMQ_POLLERR | ZMQ_POLLOUT);
    /* Also while it is held. */
    kernel_link_hold(self, true);
    assert_int_equal(loop.events[LINK_FD], ZMQ_POLLOUT);
    happens(LINK_FD, ZMQ_POLLOUT);
    assert_int_equal(loop.events[LINK_FD], 0);
    assert_int_equal(inputs, 0);
}

static void a_cut_link_is_connected_again(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault;

    open_link(self);
    kernel_link_note(self, 4, 10);
    kernel_link_cut(self);
    assert_false(kernel_link_is_connected(self));
    assert_int_equal(loop.events[LINK_FD], 0);
    assert_int_equal(kernel_link_connect(self, "/r", &fault), 0);
    assert_int_equal(fake.hellos, 2);
    assert_int_equal(fake.acked, 4);
    assert_int_equal(loop.events[LINK_FD], ZMQ_POLLIN | ZMQ_POLLERR);
}

static void acknowledges_new_events(void **state)
{
    kernel_link_t *self = *state;

    open_link(self);
    kernel_link_acknowledge(self);
    assert_int_equal(fake.acknowledgements, 0);
    kernel_link_note(self, 4, 10);
    assert_int_equal(kernel_link_seq(self), 4);
    kernel_link_acknowledge(self);
    assert_int_equal(fake.acked, 4);
    assert_false(fake.is_urgent);
    kernel_link_acknowledge(self);
    assert_int_equal(fake.acknowledgements, 1);
}

static void many_bytes_are_acknowledged_at_once(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault;

    open_link(self);
    kernel_link_note_dropped(self, 1 << 19);
    kernel_link_note(self, 4, 1 << 19);
    kernel_link_acknowledge(self);
    assert_false(fake.is_urgent);
    kernel_link_note(self, 5, 1);
    kernel_link_acknowledge(self);
    assert_true(fake.is_urgent);
    kernel_link_note(self, 6, 1 << 20);
    kernel_link_acknowledge(self);
    assert_false(fake.is_urgent);
    assert_int_equal(kernel_link_send(self, &(frame_t){0}, &fault), 0);
    kernel_link_note(self, 7, 1);
    kernel_link_acknowledge(self);
    assert_false(fake.is_urgent);
    kernel_link_note(self, 8, 1 << 20);
    assert_int_equal(kernel_link_send(self, &(frame_t){0}, &fault), 0);
    kernel_link_acknowledge(self); /* it did not */
    assert_true(fake.is_urgent);
}

static void a_failed_acknowledgement_is_repeated(void **state)
{
    kernel_link_t *self = *state;

    open_link(self);
    kernel_link_note(self, 4, 10);
    fake.refusal = EPIPE;
    kernel_link_acknowledge(self);
    fake.refusal = 0;
    kernel_link_acknowledge(self);
    assert_int_equal(fake.acknowledgements, 2);
}

static void a_fresh_kernel_counts_from_one(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault;

    fake.has_end = true;
    open_link(self);
    kernel_link_note(self, 4, 10);
    kernel_link_read_end(self);
    assert_int_equal(kernel_link_end(self)->code, 3);
    kernel_link_reset(self);
    assert_int_equal(kernel_link_seq(self), 0);
    assert_false(kernel_link_end(self)->is_known);
    kernel_link_acknowledge(self);
    assert_int_equal(fake.acknowledgements, 0);
    assert_int_equal(kernel_link_connect(self, "/r", &fault), 0);
    assert_int_equal(fake.acked, 0);
    kernel_link_set_seq(self, 9);
    kernel_link_acknowledge(self);
    assert_int_equal(fake.acknowledgements, 0);
}

static void reports_the_end_of_the_kernel(void **state)
{
    kernel_link_t *self = *state;

    open_link(self);
    kernel_link_set_process(self, 7, PIDFD);
    happens(INIT_FD, ZMQ_POLLIN); /* another word of pid 1 */
    assert_int_equal(ends + silences, 0);
    fake.has_end = true;
    happens(INIT_FD, ZMQ_POLLIN);
    assert_int_equal(ends, 1);
    assert_int_equal(kernel_link_end(self)->code, 3);
    happens(PIDFD, ZMQ_POLLIN);
    assert_int_equal(ends, 2);
}

static void reports_a_pid_1_that_says_nothing(void **state)
{
    kernel_link_t *self = *state;

    open_link(self);
    fake.init_fd = -1;
    happens(INIT_FD, ZMQ_POLLIN);
    assert_int_equal(silences, 1);
    assert_int_equal(ends, 0);
    assert_int_equal(loop.events[INIT_FD], 0);
}

static void a_process_may_have_any_descriptor(void **state)
{
    kernel_link_t *self = *state;

    open_link(self);
    kernel_link_cut(self); /* which gives LINK_FD back */
    kernel_link_set_process(self, 7, LINK_FD);
    assert_true(kernel_link_has_process(self));
    assert_int_equal(loop.events[LINK_FD], ZMQ_POLLIN | ZMQ_POLLERR);
    kernel_link_unwatch(self);
    assert_int_equal(loop.events[LINK_FD], 0);
}

static void pid_1_may_have_any_descriptor(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault;

    fake.init_fd = 0;
    assert_int_equal(kernel_link_open(self, "/r", false, &fault), 0);
    assert_int_equal(loop.events[0], ZMQ_POLLIN | ZMQ_POLLERR);
    happens(0, ZMQ_POLLIN);
    assert_int_equal(silences, 0);
    kernel_link_unwatch(self);
    assert_int_equal(loop.events[0], 0);
}

static void a_process_that_has_ended_is_not_watched(void **state)
{
    kernel_link_t *self = *state;
    fault_t fault;

    open_link(self);
    fake.refusal = ESRCH;
    assert_int_equal(kernel_link_adopt(self, 7, 77, &fault), -ESRCH);
    assert_int_equal(loop.events[PIDFD], 0);
    fake.refusal = 0;
    assert_int_equal(kernel_link_adopt(self, 7, 77, &fault), 0);
    assert_int_equal(loop.events[PIDFD], ZMQ_POLLIN | ZMQ_POLLERR);
    assert_true(kernel_link_has_process(self));
}

static void ignores_a_kernel_that_it_forgot(void **state)
{
    kernel_link_t *self = *state;

    open_link(self);
    kernel_link_set_process(self, 7, PIDFD);
    kernel_link_close(self);
    happens(LINK_FD, ZMQ_POLLIN);
    happens(INIT_FD, ZMQ_POLLIN);
    happens(PIDFD, ZMQ_POLLIN);
    assert_int_equal(inputs + ends + silences, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(watches_pid_1_the_process_and_the_link),
        TEST(gives_the_reason_of_a_refusal),
        TEST(a_held_link_is_not_read),
        TEST(a_frame_that_does_not_fit_is_written_later),
        TEST(a_cut_link_is_connected_again),
        TEST(acknowledges_new_events),
        TEST(many_bytes_are_acknowledged_at_once),
        TEST(a_failed_acknowledgement_is_repeated),
        TEST(a_fresh_kernel_counts_from_one),
        TEST(reports_the_end_of_the_kernel),
        TEST(reports_a_pid_1_that_says_nothing),
        TEST(ignores_a_kernel_that_it_forgot),
        TEST(a_process_may_have_any_descriptor),
        TEST(pid_1_may_have_any_descriptor),
        TEST(a_process_that_has_ended_is_not_watched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
