/* A reader looks at a socket when its descriptor, or a caller that used it,
 * gives reason, and misses nothing. */
#include "gateway/channels/zmq_reader.h"

#include "tests/lib/test.h"

#include <zmq.h>

#define PATIENCE_MS 60000

typedef struct {
    zloop_t *loop;
    zsock_t *ours, *peers;
    zmq_reader_t *reader;
    int wanted, taken; /* messages */
    int calls, most;   /* of the handler; messages that one call takes */
    bool is_late;
} bench_t;

static int on_socket(zloop_t *loop, zsock_t *socket, void *arg)
{
    bench_t *bench = arg;

    (void) loop;
    bench->calls++;
    for (int i = 0; i < bench->most && zmq_reader_has_input(bench->reader);
         i++) {
        char *text = zstr_recv(socket);
        assert_non_null(text);
        zstr_free(&text);
        bench->taken++;
    }
    return bench->taken >= bench->wanted ? -1 : 0;
}

static int on_late(zloop_t *loop, int timer, void *arg)
{
    bench_t *bench = arg;

    (void) loop;
    (void) timer;
    bench->is_late = true;
    return -1;
}

static void say(bench_t *bench, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(zstr_send(bench->peers, "word"), 0);
}

static void run(bench_t *bench)
{
    int timer = zloop_timer(bench->loop, PATIENCE_MS, 1, on_late, bench);

    zloop_start(bench->loop);
    zloop_timer_end(bench->loop, timer);
    assert_false(bench->is_late);
    assert_int_equal(bench->taken, bench->wanted);
}

static int set_up(void **state)
{
    /* libzmq frees a name some time after its socket has gone. */
    static int benches;
    bench_t *bench = mem_new(sizeof *bench);
    int number = ++benches;

    bench->loop = zloop_new();
    zloop_set_nonstop(bench->loop, true);
    bench->ours = zsock_new(ZMQ_PAIR);
    bench->peers = zsock_new(ZMQ_PAIR);
    assert_true(zsock_bind(bench->ours, "inproc://reader-%d", number) >= 0);
    assert_true(zsock_connect(bench->peers, "inproc://reader-%d", number) >= 0);
    bench->most = 100;
    bench->reader = zmq_reader_new(bench->loop, bench->ours, on_socket, bench);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    bench_t *bench = *state;

    zloop_destroy(&bench->loop);
    zmq_reader_destroy(&bench->reader);
    zsock_destroy(&bench->ours);
    zsock_destroy(&bench->peers);
    free(bench);
    return 0;
}

static void reads_messages_from_before_its_creation(void **state)
{
    bench_t *bench = *state;

    bench->wanted = 3;
    say(bench, 3);
    run(bench);
    assert_int_equal(bench->calls, 1);
}

static void reads_messages_that_one_call_left(void **state)
{
    bench_t *bench = *state;

    bench->most = 2;
    bench->wanted = 5;
    say(bench, 5);
    run(bench);
    assert_int_equal(bench->calls, 3);
}

static int on_say(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    say(arg, 1);
    return 0;
}

static void is_woken_by_the_descriptor(void **state)
{
    bench_t *bench = *state;

    bench->wanted = 1;
    zloop_timer(bench->loop, 20, 1, on_say, bench);
    run(bench);
    assert_int_equal(bench->calls, 1);
}

/* The sign is gone, the message is there. */
static int on_swallow(zloop_t *loop, int timer, void *arg)
{
    bench_t *bench = arg;

    (void) loop;
    (void) timer;
    say(bench, 1);
    assert_true(zsock_events(bench->ours) & ZMQ_POLLIN);
    zmq_reader_touch(bench->reader);
    return 0;
}

static void finds_messages_whose_edge_was_consumed(void **state)
{
    bench_t *bench = *state;

    bench->wanted = 1;
    zloop_timer(bench->loop, 20, 1, on_swallow, bench);
    run(bench);
    assert_int_equal(bench->calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_messages_from_before_its_creation,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_messages_that_one_call_left,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_woken_by_the_descriptor, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(finds_messages_whose_edge_was_consumed,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
