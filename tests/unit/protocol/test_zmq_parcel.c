#include "protocol/zmq_parcel.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#define DEADLINE_MS 60000

/* Longer than what libzmq keeps inside of a message. */
static const char text[] =
    "a frame of more than thirty-three bytes, sent twice";

typedef struct {
    void *context;
    void *from[2], *to[2]; /* pairs of sockets */
} sockets_t;

static sockets_t sockets_new(void)
{
    static const char *const endpoints[] = {"inproc://one", "inproc://two"};
    sockets_t self = {.context = zmq_ctx_new()};

    for (int i = 0; i < 2; i++) {
        self.from[i] = zmq_socket(self.context, ZMQ_PAIR);
        self.to[i] = zmq_socket(self.context, ZMQ_PAIR);
        assert_int_equal(zmq_bind(self.from[i], endpoints[i]), 0);
        assert_int_equal(zmq_connect(self.to[i], endpoints[i]), 0);
    }
    return self;
}

static void sockets_end(sockets_t *self)
{
    int linger = 0;

    for (int i = 0; i < 2; i++) {
        zmq_setsockopt(self->from[i], ZMQ_LINGER, &linger, sizeof linger);
        zmq_close(self->from[i]);
        zmq_close(self->to[i]);
    }
    zmq_ctx_term(self->context);
}

static void take(void *socket)
{
    char came[64] = "";

    assert_int_equal(zmq_recv(socket, came, sizeof came, 0), sizeof text - 1);
    assert_memory_equal(came, text, sizeof text - 1);
}

static void is_held_until_both_have_taken_it(void **state)
{
    sockets_t sockets = sockets_new();
    char own[sizeof text];
    zmq_parcel_t *parcel;
    struct timespec pause = {0, 1000000};

    (void) state;
    memcpy(own, text, sizeof text);
    parcel = zmq_parcel_new(text_bytes(own));
    memset(own, 'x', sizeof own);
    assert_false(zmq_parcel_is_held(parcel));
    for (int i = 0; i < 2; i++)
        assert_int_equal(zmq_parcel_send(parcel, sockets.from[i], 0), 0);
    take(sockets.to[0]);
    assert_true(zmq_parcel_is_held(parcel));
    take(sockets.to[1]);
    for (int i = 0; i < DEADLINE_MS && zmq_parcel_is_held(parcel); i++)
        nanosleep(&pause, NULL);
    assert_false(zmq_parcel_is_held(parcel));
    zmq_parcel_destroy(&parcel);
    assert_null(parcel);
    zmq_parcel_destroy(&parcel);
    sockets_end(&sockets);
}

static void may_be_destroyed_before_its_frames(void **state)
{
    sockets_t sockets = sockets_new();
    zmq_parcel_t *parcel = zmq_parcel_new(text_bytes(text));

    (void) state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(zmq_parcel_send(parcel, sockets.from[i], 0), 0);
    zmq_parcel_destroy(&parcel);
    take(sockets.to[1]);
    sockets_end(&sockets);
}

typedef struct {
    atomic_size_t count, weight;
} freed_t;

static void on_freed(void *arg, size_t weight)
{
    freed_t *freed = arg;

    atomic_fetch_add(&freed->weight, weight);
    atomic_fetch_add(&freed->count, 1);
}

static void await_freed(freed_t *freed, size_t count)
{
    struct timespec pause = {0, 1000000};

    for (int i = 0; i < DEADLINE_MS && atomic_load(&freed->count) < count; i++)
        nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&freed->count), count);
}

/* The parcel outlives its owner, and each frame has its own receipt. */
static void reports_each_frame_once_when_it_was_taken(void **state)
{
    sockets_t sockets = sockets_new();
    zmq_parcel_t *parcel = zmq_parcel_new(text_bytes(text));
    freed_t freed = {0};
    zmq_parcel_receipt_t receipts[] = {{on_freed, &freed, 1},
                                       {on_freed, &freed, 20}};

    (void) state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            zmq_parcel_send_counted(parcel, sockets.from[i], 0, &receipts[i]),
            0);
    memset(receipts, 0, sizeof receipts);
    zmq_parcel_destroy(&parcel);
    take(sockets.to[1]);
    await_freed(&freed, 1);
    assert_int_equal(atomic_load(&freed.weight), 20);
    take(sockets.to[0]);
    await_freed(&freed, 2);
    assert_int_equal(atomic_load(&freed.weight), 21);
    sockets_end(&sockets);
    assert_int_equal(atomic_load(&freed.count), 2);
}

static void reports_what_was_refused_at_once(void **state)
{
    void *context = zmq_ctx_new();
    void *alone = zmq_socket(context, ZMQ_PAIR);
    zmq_parcel_t *parcel = zmq_parcel_new((bytes_t){0});
    freed_t freed = {0};
    const zmq_parcel_receipt_t receipt = {on_freed, &freed, 3};

    (void) state;
    assert_int_equal(
        zmq_parcel_send_counted(parcel, alone, ZMQ_DONTWAIT, &receipt),
        -EAGAIN);
    assert_int_equal(atomic_load(&freed.weight), 3);
    assert_false(zmq_parcel_is_held(parcel));
    zmq_parcel_destroy(&parcel);
    zmq_close(alone);
    zmq_ctx_term(context);
}

static void is_made_once_for_all_who_share_it(void **state)
{
    cleanup_zmq_parcel zmq_parcel_t *shared = NULL;
    zmq_parcel_t *first = zmq_parcel_share(&shared, text_bytes(text));

    (void) state;
    assert_ptr_equal(first, shared);
    assert_ptr_equal(zmq_parcel_share(&shared, text_bytes("other")), first);
}

static void is_not_held_by_what_was_refused(void **state)
{
    void *context = zmq_ctx_new();
    void *alone = zmq_socket(context, ZMQ_PAIR);
    zmq_parcel_t *parcel = zmq_parcel_new((bytes_t){0});

    (void) state;
    assert_int_equal(zmq_parcel_send(parcel, alone, ZMQ_DONTWAIT), -EAGAIN);
    assert_false(zmq_parcel_is_held(parcel));
    zmq_parcel_destroy(&parcel);
    zmq_close(alone);
    zmq_ctx_term(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_held_until_both_have_taken_it),
        cmocka_unit_test(may_be_destroyed_before_its_frames),
        cmocka_unit_test(reports_each_frame_once_when_it_was_taken),
        cmocka_unit_test(reports_what_was_refused_at_once),
        cmocka_unit_test(is_made_once_for_all_who_share_it),
        cmocka_unit_test(is_not_held_by_what_was_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
