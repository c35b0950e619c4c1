/* How many sessions the pool keeps, when it starts one and when it gives one
 * up. The sessions that it starts are records. */
#include "gateway/registry/launch/pool.h"

#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>

static bool is_zygote_ready, is_busy, makes_fail;
static int made, prealloced;
static char second_name[] = "second";
static profile_t second = {.name = second_name};

/* The timers that the pool has asked for, in the place of the loop's. */
static int timers;
static zloop_timer_fn *handler;
static void *handler_arg;

int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *fn, void *arg);

int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *fn, void *arg)
{
    (void) loop;
    assert_int_equal(delay, 40);
    assert_int_equal(times, 1);
    handler = fn;
    handler_arg = arg;
    return ++timers;
}

static size_t count_others(void *arg)
{
    (void) arg;
    return 0;
}

static bool ask_ready(void *arg, const profile_t *profile)
{
    (void) arg;
    return is_zygote_ready && profile != &second;
}

static bool ask_busy(void *arg)
{
    (void) arg;
    return is_busy;
}

static void make_ahead(void *arg)
{
    (void) arg;
    prealloced++;
}

static int make_member(void *arg, const profile_t *profile, fault_t *fault)
{
    (void) arg;
    (void) profile;
    made++;
    return makes_fail ? fault_set(fault, EAGAIN, "no") : 0;
}

static const pool_source_t source = {.is_ready = ask_ready,
                                     .is_busy = ask_busy,
                                     .prealloc = make_ahead,
                                     .make = make_member};

typedef struct {
    zloop_t *loop;
    session_table_t *table;
    capacity_t *capacity;
    pool_t *pool;
} rig_t;

static rig_t make(size_t sessions)
{
    rig_t rig = {.loop = zloop_new(), .table = session_table_new(NULL)};

    is_zygote_ready = true;
    is_busy = makes_fail = false;
    made = prealloced = timers = 0;
    fake_profile.pool = (profile_pool_t){.min = 2, .max = 4};
    rig.capacity = capacity_new(rig.table, sessions, 0, count_others, NULL);
    rig.pool = pool_new(rig.loop, &fake_options, rig.table, rig.capacity,
                        &source, NULL);
    return rig;
}

static void clear(rig_t *rig)
{
    pool_destroy(&rig->pool);
    capacity_destroy(&rig->capacity);
    session_table_destroy(&rig->table);
    zloop_destroy(&rig->loop);
}

static session_entry_t *add(const rig_t *rig, const char *id, int64_t now_ms,
                            bool is_ready)
{
    session_entry_t *entry = fake_add(rig->table, id, FAKE_POOLED, now_ms);

    pool_join(rig->pool, entry);
    if (is_ready)
        session_table_set_ready(rig->table, entry);
    return entry;
}

static json_int_t describe(const rig_t *rig, const char *name, int64_t now_ms)
{
    json_auto_t *model = pool_describe(rig->pool, &fake_profile, now_ms);

    return json_integer_value(json_object_get(model, name));
}

static void refill(const rig_t *rig, int64_t now_ms, int expected)
{
    made = 0;
    pool_refill(rig->pool, now_ms);
    assert_int_equal(made, expected);
}

static void gives_the_member_that_waited_longest(void **state)
{
    rig_t rig = make(100);

    (void) state;
    assert_null(pool_find(rig.pool, &fake_profile));
    add(&rig, "new", 30, true);
    session_entry_t *old = add(&rig, "old", 10, true);
    add(&rig, "between", 20, true);
    add(&rig, "starting", 5, false);
    session_table_set_gone(rig.table, add(&rig, "gone", 1, true), 2);
    assert_string_equal(pool_find(rig.pool, &fake_profile)->id, "old");
    assert_int_equal(describe(&rig, "ready", 0), 3);
    pool_leave(rig.pool, old);
    pool_leave(rig.pool, old);
    assert_string_equal(pool_find(rig.pool, &fake_profile)->id, "between");
    clear(&rig);
}

static void starts_as_many_as_its_least(void **state)
{
    rig_t rig = make(100);

    (void) state;
    refill(&rig, 0, 1);
    assert_int_equal(prealloced, 1);
    add(&rig, "a", 0, false);
    refill(&rig, 0, 1);
    session_entry_t *two = add(&rig, "b", 0, true);
    refill(&rig, 0, 0);
    session_table_set_gone(rig.table, two, 0);
    refill(&rig, 0, 1);
    clear(&rig);
}

static void follows_the_arrivals_of_ten_seconds(void **state)
{
    rig_t rig = make(100);

    (void) state;
    assert_int_equal(describe(&rig, "target", 0), 2);
    pool_count_arrival(rig.pool, &fake_profile, 1000);
    assert_int_equal(describe(&rig, "target", 1000), 3);
    assert_int_equal(describe(&rig, "target", 10999), 3);
    assert_int_equal(describe(&rig, "target", 11000), 2);
    for (int i = 0; i < 1000; i++)
        pool_count_arrival(rig.pool, &fake_profile, 20000);
    assert_int_equal(describe(&rig, "target", 20000), 4);
    fake_profile.pool.max = 1000;
    assert_int_equal(describe(&rig, "target", 20000), 258);
    clear(&rig);
}

static void starts_no_member_while_clients_wait(void **state)
{
    rig_t rig = make(100);

    (void) state;
    is_busy = true;
    refill(&rig, 0, 0);
    is_busy = false;
    is_zygote_ready = false;
    refill(&rig, 0, 0);
    is_zygote_ready = true;
    fake_options.memory.reserve = UINT64_MAX;
    refill(&rig, 0, 0);
    fake_options.memory.reserve = 0;
    refill(&rig, 0, 1);
    session_table_close(rig.table);
    refill(&rig, 0, 0);
    clear(&rig);
}

static void starts_no_member_without_descriptors(void **state)
{
    rig_t rig = make(4);

    (void) state;
    fake_add(rig.table, "g", FAKE_GONE, 0);
    fake_add(rig.table, "a", FAKE_TAKEN, 0);
    fake_add(rig.table, "b", FAKE_TAKEN, 0);
    refill(&rig, 0, 1);
    assert_string_equal(fake_said(), "g FORGET");
    fake_add(rig.table, "c", FAKE_TAKEN, 0);
    refill(&rig, 0, 0);
    clear(&rig);
}

static void starts_one_member_of_a_profile_at_a_time(void **state)
{
    profile_t *both[] = {&second, &fake_profile};

    (void) state;
    second.pool = (profile_pool_t){.min = 1, .max = 1};
    fake_options.profiles = both;
    fake_options.profile_count = 2;
    rig_t rig = make(100);
    makes_fail = true;
    refill(&rig, 0, 1);
    add(&rig, "a", 0, true);
    session_entry_t *two = add(&rig, "b", 0, true);
    refill(&rig, 0, 0);
    assert_null(pool_find(rig.pool, &second));
    two->profile = &fake_profile;
    pool_drain(rig.pool, &second);
    assert_string_equal(fake_said(), "");
    clear(&rig);
}

static void waits_longer_after_each_start_in_vain(void **state)
{
    rig_t rig = make(100);
    session_entry_t *entry = add(&rig, "a", 0, false);
    int64_t pause = 100;

    (void) state;
    session_table_set_gone(rig.table, entry, 0);
    for (int i = 0; i < 12; i++) {
        int64_t now = i * 1000000;

        pause = i < 9 ? 2 * pause : pause;
        pool_on_started(rig.pool, entry, now);
        refill(&rig, now + pause - 1, 0);
        refill(&rig, now + pause, 1);
    }
    assert_int_equal(pause, 51200);
    session_entry_t *good = add(&rig, "b", 0, true);
    pool_on_started(rig.pool, good, 12000000);
    pool_on_started(rig.pool, entry, 12000000);
    refill(&rig, 12000199, 0);
    refill(&rig, 12000200, 1);
    clear(&rig);
}

static void ends_surplus_members(void **state)
{
    rig_t rig = make(100);

    (void) state;
    add(&rig, "a", 1, true);
    add(&rig, "b", 2, true);
    pool_tick(rig.pool, 100);
    assert_string_equal(fake_said(), "");
    add(&rig, "c", 3, true);
    pool_tick(rig.pool, 100);
    assert_string_equal(fake_said(), "a DELETE");
    assert_int_equal(describe(&rig, "ready", 100), 2);
    pool_tick(rig.pool, 100);
    assert_string_equal(fake_said(), "");
    clear(&rig);
}

static void ends_members_that_are_too_old(void **state)
{
    rig_t rig = make(100);

    (void) state;
    fake_profile.pool.max_age_ms = 1000;
    pool_tick(rig.pool, 5000);
    add(&rig, "a", 100, true);
    pool_tick(rig.pool, 1100);
    assert_string_equal(fake_said(), "");
    pool_tick(rig.pool, 1101);
    assert_string_equal(fake_said(), "a DELETE");
    clear(&rig);
}

static void gives_up_all_when_memory_is_short(void **state)
{
    rig_t rig = make(100);
    session_entry_t *starting = add(&rig, "a", 0, false);

    (void) state;
    add(&rig, "b", 0, true);
    session_table_set_gone(rig.table, add(&rig, "c", 0, true), 0);
    fake_options.memory.reserve = UINT64_MAX;
    pool_tick(rig.pool, 0);
    assert_string_equal(fake_said(), "b DELETE; a DELETE");
    assert_null(pool_find(rig.pool, &fake_profile));
    /* One that starts goes on counting as a start until it has ended. */
    assert_int_equal(starting->state, SESSION_ENTRY_STARTING);
    clear(&rig);
}

static void asks_for_one_refill_at_a_time(void **state)
{
    rig_t rig = make(100);

    (void) state;
    pool_refill_soon(rig.pool);
    pool_refill_soon(rig.pool);
    assert_int_equal(timers, 1);
    assert_int_equal(handler(rig.loop, 1, handler_arg), 0);
    assert_int_equal(made, 1);
    pool_tick(rig.pool, 0);
    assert_int_equal(timers, 2);
    (void) handler(rig.loop, 2, handler_arg);
    session_table_close(rig.table);
    pool_refill_soon(rig.pool);
    assert_int_equal(timers, 2);
    clear(&rig);
}

static void destroy_accepts_null(void **state)
{
    pool_t *none = NULL;

    (void) state;
    pool_destroy(&none);
    assert_null(none);
}

static void counts_members_handed_out(void **state)
{
    rig_t rig = make(100);

    (void) state;
    pool_count_given(rig.pool, &fake_profile, true);
    pool_count_given(rig.pool, &fake_profile, true);
    pool_count_given(rig.pool, &fake_profile, false);
    assert_int_equal(describe(&rig, "handed_out", 0), 2);
    assert_int_equal(describe(&rig, "forked", 0), 1);
    clear(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(gives_the_member_that_waited_longest,
                               fake_begin),
        cmocka_unit_test_setup(starts_as_many_as_its_least, fake_begin),
        cmocka_unit_test_setup(follows_the_arrivals_of_ten_seconds, fake_begin),
        cmocka_unit_test_setup(starts_no_member_while_clients_wait, fake_begin),
        cmocka_unit_test_setup(starts_no_member_without_descriptors,
                               fake_begin),
        cmocka_unit_test_setup(starts_one_member_of_a_profile_at_a_time,
                               fake_begin),
        cmocka_unit_test_setup(waits_longer_after_each_start_in_vain,
                               fake_begin),
        cmocka_unit_test_setup(ends_surplus_members, fake_begin),
        cmocka_unit_test_setup(ends_members_that_are_too_old, fake_begin),
        cmocka_unit_test_setup(gives_up_all_when_memory_is_short, fake_begin),
        cmocka_unit_test_setup(asks_for_one_refill_at_a_time, fake_begin),
        cmocka_unit_test_setup(destroy_accepts_null, fake_begin),
        cmocka_unit_test_setup(counts_members_handed_out, fake_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
