#include "gateway/session/lifecycle/timers.h"
#include "tests/lib/test.h"

/* The loop is replaced: timers expire when the test says so. */
static struct {
    int id, started, ended;
    size_t delay_ms;
    zloop_timer_fn *handler;
    void *arg;
} loop;

static int fired[TIMER_COUNT];

int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
int __wrap_zloop_timer_end(zloop_t *self, int id);

int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    (void) self;
    assert_int_equal(times, 1);
    loop.delay_ms = delay;
    loop.handler = handler;
    loop.arg = arg;
    loop.started++;
    return ++loop.id;
}

int __wrap_zloop_timer_end(zloop_t *self, int id)
{
    (void) self;
    assert_true(id > 0);
    loop.ended++;
    return 0;
}

static void on_save(void *arg)
{
    assert_false(timers_is_running(*(timers_t **) arg, TIMER_SAVE));
    fired[TIMER_SAVE]++;
}

static void on_stop(void *arg)
{
    fired[TIMER_STOP]++;
    timers_end_loop(*(timers_t **) arg);
}

static timers_handler_t *const handlers[TIMER_COUNT] = {
    [TIMER_SAVE] = on_save,
    [TIMER_STOP] = on_stop,
};

static int expire(int id)
{
    return loop.handler(NULL, id, loop.arg);
}

static int begin(void **state)
{
    static timers_t *timers;

    memset(&loop, 0, sizeof loop);
    memset(fired, 0, sizeof fired);
    timers = timers_new(NULL, handlers, &timers);
    *state = timers;
    return 0;
}

static int end(void **state)
{
    timers_t *timers = *state;

    timers_destroy(&timers);
    assert_null(timers);
    return 0;
}

static void a_timer_expires_once(void **state)
{
    timers_t *timers = *state;

    timers_start(timers, TIMER_SAVE, 50);
    assert_int_equal(loop.delay_ms, 50);
    assert_true(timers_is_running(timers, TIMER_SAVE));
    assert_false(timers_is_running(timers, TIMER_STOP));
    assert_int_equal(expire(1), 0);
    assert_int_equal(fired[TIMER_SAVE], 1);
    assert_int_equal(loop.ended, 0);
    timers_stop(timers, TIMER_SAVE);
    assert_int_equal(loop.ended, 0);
}

static void a_stopped_timer_does_nothing(void **state)
{
    timers_t *timers = *state;

    timers_start(timers, TIMER_SAVE, 50);
    timers_stop(timers, TIMER_SAVE);
    assert_int_equal(loop.ended, 1);
    assert_int_equal(expire(1), 0);
    assert_int_equal(fired[TIMER_SAVE], 0);
}

static void a_timer_that_is_started_again_counts_from_zero(void **state)
{
    timers_t *timers = *state;

    timers_start(timers, TIMER_SAVE, 50);
    timers_start(timers, TIMER_SAVE, 70);
    assert_int_equal(loop.ended, 1);
    assert_int_equal(loop.delay_ms, 70);
    expire(1);
    assert_int_equal(fired[TIMER_SAVE], 0);
    expire(2);
    assert_int_equal(fired[TIMER_SAVE], 1);
}

static void a_running_timer_is_not_started_again(void **state)
{
    timers_t *timers = *state;

    timers_start_once(timers, TIMER_SAVE, 50);
    timers_start_once(timers, TIMER_SAVE, 70);
    assert_int_equal(loop.started, 1);
    expire(1);
    timers_start_once(timers, TIMER_SAVE, 70);
    assert_int_equal(loop.started, 2);
}

static void zero_is_the_shortest_time(void **state)
{
    timers_t *timers = *state;

    timers_start(timers, TIMER_SAVE, 0);
    assert_int_equal(loop.delay_ms, 1);
    timers_start(timers, TIMER_SAVE, -5);
    assert_int_equal(loop.delay_ms, 1);
    timers_start(timers, TIMER_SAVE, 1);
    assert_int_equal(loop.delay_ms, 1);
    timers_start(timers, TIMER_SAVE, 2);
    assert_int_equal(loop.delay_ms, 2);
}

static void a_handler_ends_the_loop(void **state)
{
    timers_t *timers = *state;

    timers_start(timers, TIMER_STOP, 5);
    assert_int_equal(expire(1), -1);
    assert_int_equal(fired[TIMER_STOP], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_timer_expires_once),
        TEST(a_stopped_timer_does_nothing),
        TEST(a_timer_that_is_started_again_counts_from_zero),
        TEST(a_running_timer_is_not_started_again),
        TEST(zero_is_the_shortest_time),
        TEST(a_handler_ends_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
