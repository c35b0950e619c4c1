/* The connection to a keeper over a socket of the test: messages that wait for
 * room, reading, and the end of the connection. */
#include "gateway/session/processes/keeper_link.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "tests/lib/deeds.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define FAKE_FD   1000 /* no descriptor of the test */

static struct {
    short events; /* that the loop watches; 0: none */
    zloop_fn *handler;
    void *arg;
    int full;        /* errno of the next sends; 0: they succeed */
    int room;        /* sends that succeed before */
    int connect;     /* errno of the connection; 0 */
    int broken;      /* errno of a read, instead of EAGAIN */
    bool is_reset;   /* the next read fails once, with ECONNRESET */
    int stale;       /* errno that stays of it */
    int reads;       /* of the socket */
    int messages;    /* that come */
    bool is_closed;  /* after them the keeper closes its end */
    bool is_garbage; /* they are no messages */
    int ends_after;  /* messages until the owner destroys the link; 0: never */
    int taken;       /* messages that the owner got */
    bool holds;      /* the owner holds the link at its first message */
    keeper_link_t *link;
} fake;

int __wrap_fd_connect_packets(const char *path, int *ret_fd, fault_t *fault);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);
int __wrap_zloop_poller(zloop_t *loop, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg);
void __wrap_zloop_poller_end(zloop_t *loop, zmq_pollitem_t *item);
void __wrap_zloop_poller_set_tolerant(zloop_t *loop, zmq_pollitem_t *item);

int __wrap_fd_connect_packets(const char *path, int *ret_fd, fault_t *fault)
{
    assert_string_equal(path, "/run/keeper");
    if (fake.connect)
        return fault_set(fault, fake.connect, "no keeper listens");
    *ret_fd = FAKE_FD;
    return 0;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    keeper_message_t message;
    fault_t fault;

    assert_int_equal(fd, FAKE_FD);
    assert_int_equal(flags, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (fake.room) {
        fake.room--;
    } else if (fake.full) {
        errno = fake.full;
        return -1;
    }
    assert_int_equal(keeper_decode((bytes_t){bytes, size}, &message, &fault),
                     0);
    deeds_note("sent %d/%d", (int) message.kind, (int) message.numbers[0]);
    return (ssize_t) size;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    assert_int_equal(fd, FAKE_FD);
    assert_int_equal(flags, MSG_DONTWAIT);
    fake.reads++;
    if (fake.is_reset) {
        fake.is_reset = false;
        errno = fake.stale = ECONNRESET;
        return -1;
    }
    if (!fake.messages && fake.is_closed) {
        errno = fake.stale ? fake.stale : EAGAIN; /* of an earlier call */
        return 0;
    }
    if (!fake.messages) {
        errno = fake.broken ? fake.broken : EAGAIN;
        return -1;
    }
    fake.messages--;
    keeper_encode(&(keeper_message_t){KEEPER_STARTED, {7}, {NULL, 0}}, &out);
    assert_in_range(out.size, 1, size);
    memcpy(bytes, out.data, out.size);
    return fake.is_garbage ? 3 : (ssize_t) out.size;
}

int __wrap_zloop_poller(zloop_t *loop, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg)
{
    (void) loop;
    assert_int_equal(fake.events, 0);
    assert_int_equal(item->fd, FAKE_FD);
    fake.events = item->events;
    fake.handler = handler;
    fake.arg = arg;
    return 0;
}

void __wrap_zloop_poller_end(zloop_t *loop, zmq_pollitem_t *item)
{
    (void) loop;
    assert_int_equal(item->fd, FAKE_FD);
    assert_int_not_equal(fake.events, 0);
    fake.events = 0;
}

void __wrap_zloop_poller_set_tolerant(zloop_t *loop, zmq_pollitem_t *item)
{
    (void) loop;
    (void) item;
}

static bool on_message(void *arg, const keeper_message_t *message)
{
    assert_ptr_equal(arg, &fake);
    assert_int_equal(message->kind, KEEPER_STARTED);
    assert_int_equal(message->numbers[0], 7);
    fake.taken++;
    if (fake.holds)
        keeper_link_hold(fake.link, true);
    if (fake.taken != fake.ends_after)
        return true;
    keeper_link_destroy(&fake.link);
    return false;
}

static void on_closed(void *arg, const char *why)
{
    assert_ptr_equal(arg, &fake);
    deeds_note("closed: %s", why);
    keeper_link_destroy(&fake.link);
}

static void on_pause(void *arg)
{
    assert_ptr_equal(arg, &fake);
    deeds_note("pause");
}

static const keeper_link_ops_t ops = {on_message, on_closed, on_pause};

static int begin(void **state)
{
    fault_t fault;

    (void) state;
    memset(&fake, 0, sizeof fake);
    deeds_forget();
    return keeper_link_new(NULL, "/run/keeper", &ops, &fake, &fake.link,
                           &fault);
}

static int end(void **state)
{
    (void) state;
    keeper_link_destroy(&fake.link);
    return fake.events; /* nothing is watched any more */
}

static void poll_for(short events)
{
    zmq_pollitem_t item = {.fd = FAKE_FD, .revents = events};

    assert_int_equal(fake.handler(NULL, &item, fake.arg), 0);
}

static int send_signal(uint64_t number, fault_t *fault)
{
    return keeper_link_send(
        fake.link, &(keeper_message_t){KEEPER_SIGNAL, {number}, {NULL, 0}},
        fault);
}

static void without_a_keeper_there_is_no_link(void **state)
{
    keeper_link_t *other = NULL;
    fault_t fault;

    (void) state;
    fake.connect = ECONNREFUSED;
    assert_int_equal(
        keeper_link_new(NULL, "/run/keeper", &ops, &fake, &other, &fault),
        -ECONNREFUSED);
    assert_null(other);
}

static void a_message_is_sent_at_once(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(fake.events, ZMQ_POLLIN | ZMQ_POLLERR);
    assert_int_equal(send_signal(15, &fault), 0);
    DID("sent 4/15");
    assert_int_equal(fake.events, ZMQ_POLLIN | ZMQ_POLLERR);
}

static void messages_wait_for_room_in_their_order(void **state)
{
    static const int full[] = {EAGAIN, ENOBUFS, EINTR};
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        fake.full = full[i];
        assert_int_equal(send_signal(1, &fault), 0);
        fake.full = 0;
        assert_int_equal(send_signal(2, &fault), 0);
        assert_int_equal(send_signal(3, &fault), 0);
        DID("");
        assert_true(fake.events & ZMQ_POLLOUT);
        poll_for(ZMQ_POLLOUT);
        DID("sent 4/1; sent 4/2; sent 4/3");
        assert_false(fake.events & ZMQ_POLLOUT);
    }
    assert_int_equal(send_signal(4, &fault), 0);
    DID("sent 4/4");
}

static void room_for_one_keeps_the_order(void **state)
{
    fault_t fault;

    (void) state;
    fake.full = EAGAIN;
    assert_int_equal(send_signal(1, &fault), 0);
    assert_int_equal(send_signal(2, &fault), 0);
    fake.room = 1;
    poll_for(ZMQ_POLLOUT);
    DID("sent 4/1");
    assert_int_equal(send_signal(3, &fault), 0);
    fake.full = 0;
    poll_for(ZMQ_POLLOUT);
    DID("sent 4/2; sent 4/3");
}

/* The end is noticed when it is read. */
static void to_a_keeper_that_has_ended_nothing_waits(void **state)
{
    fault_t fault;

    (void) state;
    fake.full = EPIPE;
    assert_int_equal(send_signal(1, &fault), 0);
    assert_false(fake.events & ZMQ_POLLOUT);
}

static void too_much_does_not_wait(void **state)
{
    static char piece[KEEPER_PIECE_MAX];
    keeper_message_t input = {KEEPER_INPUT, {0}, {piece, sizeof piece}};
    fault_t fault;
    int count = 0, r;

    (void) state;
    fake.full = EAGAIN;
    while ((r = keeper_link_send(fake.link, &input, &fault)) == 0)
        count++;
    assert_int_equal(r, -EBUSY);
    assert_int_equal(count,
                     (1 << 20) / (KEEPER_PIECE_MAX + KEEPER_HEADER_SIZE));
    assert_string_equal(fault.text,
                        "1017048 bytes wait for the process, and at most "
                        "1048576 may: send it again later");
    /* What is just small enough still waits: 31528 bytes with its header. */
    input.data.size = (1 << 20) - 1017048 - KEEPER_HEADER_SIZE;
    assert_int_equal(keeper_link_send(fake.link, &input, &fault), 0);
    assert_int_equal(send_signal(1, &fault), -EBUSY);
    fake.full = 0;
    poll_for(ZMQ_POLLOUT);
    (void) deeds_take();
    assert_int_equal(send_signal(1, &fault), 0);
    DID("sent 4/1");
}

static void messages_are_read_in_turns(void **state)
{
    (void) state;
    fake.messages = 20;
    poll_for(ZMQ_POLLIN);
    assert_int_equal(fake.taken, 16);
    DID("pause");
    poll_for(ZMQ_POLLIN);
    assert_int_equal(fake.taken, 20);
    assert_int_equal(fake.reads, 21);
    DID("pause");
    fake.broken = EINTR;
    poll_for(ZMQ_POLLERR);
    DID("pause");
    assert_non_null(fake.link);
}

static void room_to_write_is_nothing_to_read(void **state)
{
    (void) state;
    fake.messages = 1;
    poll_for(ZMQ_POLLOUT);
    assert_int_equal(fake.taken, 0);
    DID("");
}

static void one_that_is_held_is_not_read(void **state)
{
    fault_t fault;

    (void) state;
    fake.messages = 2;
    keeper_link_hold(fake.link, true);
    assert_int_equal(fake.events, 0);
    keeper_link_hold(fake.link, true);
    poll_for(ZMQ_POLLIN);
    assert_int_equal(fake.taken, 0);
    DID("");
    fake.full = EAGAIN;
    assert_int_equal(send_signal(1, &fault), 0);
    assert_int_equal(fake.events, ZMQ_POLLOUT);
    keeper_link_hold(fake.link, false);
    assert_int_equal(fake.events, ZMQ_POLLIN | ZMQ_POLLERR | ZMQ_POLLOUT);
    poll_for(ZMQ_POLLIN);
    assert_int_equal(fake.taken, 2);
}

static void a_hold_is_at_once(void **state)
{
    (void) state;
    fake.messages = 3;
    fake.holds = true;
    poll_for(ZMQ_POLLIN);
    assert_int_equal(fake.taken, 1);
    DID("pause");
}

static void the_owner_may_end_it_at_a_message(void **state)
{
    (void) state;
    fake.messages = 3;
    fake.ends_after = 2;
    poll_for(ZMQ_POLLIN);
    assert_int_equal(fake.taken, 2);
    assert_null(fake.link);
    DID("");
}

static void the_keepers_end_is_reported(void **state)
{
    (void) state;
    fake.messages = 1;
    fake.is_closed = true;
    poll_for(ZMQ_POLLIN);
    assert_int_equal(fake.taken, 1);
    DID("closed: its keeper has ended");
}

static void a_broken_connection_is_an_end(void **state)
{
    (void) state;
    fake.broken = ECONNRESET;
    poll_for(ZMQ_POLLERR);
    DID("closed: its keeper has ended");
}

static void what_was_sent_before_a_reset_is_read(void **state)
{
    (void) state;
    fake.is_reset = true;
    fake.messages = 1;
    fake.is_closed = true;
    poll_for(ZMQ_POLLIN | ZMQ_POLLERR);
    assert_int_equal(fake.taken, 1);
    assert_int_equal(fake.reads, 3);
    DID("closed: its keeper has ended");
}

static void what_is_no_message_ends_it(void **state)
{
    (void) state;
    fake.messages = 2;
    fake.is_garbage = true;
    poll_for(ZMQ_POLLIN);
    assert_int_equal(fake.taken, 0);
    assert_null(fake.link);
    assert_int_equal(fake.messages, 1);
    assert_null(strstr(deeds_take(), "its keeper has ended"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_keeper_there_is_no_link),
        TEST(a_message_is_sent_at_once),
        TEST(messages_wait_for_room_in_their_order),
        TEST(room_for_one_keeps_the_order),
        TEST(to_a_keeper_that_has_ended_nothing_waits),
        TEST(too_much_does_not_wait),
        TEST(messages_are_read_in_turns),
        TEST(room_to_write_is_nothing_to_read),
        TEST(one_that_is_held_is_not_read),
        TEST(a_hold_is_at_once),
        TEST(the_owner_may_end_it_at_a_message),
        TEST(the_keepers_end_is_reported),
        TEST(a_broken_connection_is_an_end),
        TEST(what_was_sent_before_a_reset_is_read),
        TEST(what_is_no_message_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
