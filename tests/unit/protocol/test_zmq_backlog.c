#include "protocol/zmq_backlog.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#define DEADLINE_MS 60000

typedef struct {
    void *context;
    void *from, *to; /* a pair of sockets */
} sockets_t;

static sockets_t sockets_new(void)
{
    sockets_t self = {.context = zmq_ctx_new()};

    self.from = zmq_socket(self.context, ZMQ_PAIR);
    self.to = zmq_socket(self.context, ZMQ_PAIR);
    assert_int_equal(zmq_bind(self.from, "inproc://backlog"), 0);
    assert_int_equal(zmq_connect(self.to, "inproc://backlog"), 0);
    return self;
}

static void sockets_end(sockets_t *self)
{
    int linger = 0;

    zmq_setsockopt(self->from, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close(self->from);
    zmq_close(self->to);
    zmq_ctx_term(self->context);
}

/* libzmq lets go in a thread of its own. */
static void await_weight(const zmq_backlog_t *backlog, size_t weight)
{
    struct timespec pause = {0, 1000000};

    for (int i = 0; i < DEADLINE_MS && zmq_backlog_weight(backlog) != weight;
         i++)
        nanosleep(&pause, NULL);
    assert_int_equal(zmq_backlog_weight(backlog), weight);
}

static void take(sockets_t *sockets, const char *wanted)
{
    char text[64] = "";
    int size = zmq_recv(sockets->to, text, sizeof text, 0);

    assert_int_equal(size, (int) strlen(wanted));
    assert_memory_equal(text, wanted, strlen(wanted));
}

/* Longer than what libzmq keeps inside of a message. */
static const char text[] = "a message of more than thirty-three bytes, sent";

static int send_text(zmq_backlog_t *backlog, void *socket, const char *bytes,
                     size_t weight, int flags)
{
    cleanup_zmq_parcel zmq_parcel_t *parcel = zmq_parcel_new(text_bytes(bytes));

    return zmq_backlog_send(backlog, parcel, socket, weight, flags);
}

static void counts_bytes_until_they_are_taken(void **state)
{
    sockets_t sockets = sockets_new();
    zmq_backlog_t *backlog = zmq_backlog_new();

    (void) state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(send_text(backlog, sockets.from, text, 100, 0), 0);
    assert_int_equal(zmq_backlog_weight(backlog), 300);
    for (int i = 0; i < 3; i++)
        take(&sockets, text);
    await_weight(backlog, 0);
    zmq_backlog_destroy(&backlog);
    assert_null(backlog);
    zmq_backlog_destroy(&backlog);
    sockets_end(&sockets);
}

/* One parcel for the receivers of two counters. */
static void counts_each_frame_of_a_shared_parcel(void **state)
{
    sockets_t sockets = sockets_new();
    zmq_backlog_t *backlogs[2] = {zmq_backlog_new(), zmq_backlog_new()};
    zmq_parcel_t *parcel = zmq_parcel_new(text_bytes(text));

    (void) state;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(zmq_backlog_send(backlogs[i], parcel, sockets.from,
                                          i + 1, i == 0 ? ZMQ_SNDMORE : 0),
                         0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(zmq_backlog_weight(backlogs[i]), i + 1);
    zmq_parcel_destroy(&parcel);
    for (int i = 0; i < 2; i++)
        take(&sockets, text);
    for (size_t i = 0; i < 2; i++) {
        await_weight(backlogs[i], 0);
        zmq_backlog_destroy(&backlogs[i]);
    }
    sockets_end(&sockets);
}

static void sends_an_empty_message(void **state)
{
    sockets_t sockets = sockets_new();
    zmq_backlog_t *backlog = zmq_backlog_new();

    (void) state;
    assert_int_equal(send_text(backlog, sockets.from, "", 1, 0), 0);
    take(&sockets, "");
    await_weight(backlog, 0);
    zmq_backlog_destroy(&backlog);
    sockets_end(&sockets);
}

static void does_not_count_refused_messages(void **state)
{
    void *context = zmq_ctx_new();
    void *alone = zmq_socket(context, ZMQ_PAIR);
    zmq_backlog_t *backlog = zmq_backlog_new();

    (void) state;
    assert_int_equal(send_text(backlog, alone, text, 100, ZMQ_DONTWAIT),
                     -EAGAIN);
    assert_int_equal(zmq_backlog_weight(backlog), 0);
    zmq_backlog_destroy(&backlog);
    zmq_close(alone);
    zmq_ctx_term(context);
}

/* The messages hold what they count in. */
static void may_be_destroyed_before_its_messages(void **state)
{
    sockets_t sockets = sockets_new();
    zmq_backlog_t *backlog = zmq_backlog_new();

    (void) state;
    assert_int_equal(send_text(backlog, sockets.from, text, 100, 0), 0);
    zmq_backlog_destroy(&backlog);
    take(&sockets, text);
    sockets_end(&sockets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_bytes_until_they_are_taken),
        cmocka_unit_test(counts_each_frame_of_a_shared_parcel),
        cmocka_unit_test(sends_an_empty_message),
        cmocka_unit_test(does_not_count_refused_messages),
        cmocka_unit_test(may_be_destroyed_before_its_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
