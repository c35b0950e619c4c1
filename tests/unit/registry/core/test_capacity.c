/* A number of sessions fits; the oldest gone ones make room. The sessions are
 * records. */
#include "gateway/registry/core/capacity.h"

#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

static size_t others;

static size_t count_others(void *arg)
{
    (void) arg;
    return others;
}

typedef struct {
    session_table_t *table;
    capacity_t *capacity;
} rig_t;

static rig_t make(size_t sessions, size_t gone_max)
{
    rig_t rig = {.table = session_table_new(NULL)};

    others = 0;
    rig.capacity =
        capacity_new(rig.table, sessions, gone_max, count_others, NULL);
    return rig;
}

static void clear(rig_t *rig)
{
    capacity_destroy(&rig->capacity);
    session_table_destroy(&rig->table);
}

static void add_gone(const rig_t *rig, int count)
{
    for (int i = 0; i < count; i++) {
        char id[16];

        snprintf(id, sizeof id, "g%d", i);
        fake_add(rig->table, id, FAKE_GONE, 100 + i);
    }
}

static void has_room_for_as_many_as_the_limit(void **state)
{
    rig_t rig = make(3, 0);

    (void) state;
    assert_int_equal(capacity_sessions(rig.capacity), 3);
    assert_true(capacity_is_left(rig.capacity));
    fake_add(rig.table, "a", FAKE_FRESH, 0);
    fake_add(rig.table, "b", FAKE_FRESH, 0);
    assert_true(capacity_is_left(rig.capacity));
    others = 1;
    assert_false(capacity_is_left(rig.capacity));
    others = 0;
    fake_add(rig.table, "c", FAKE_GONE, 0);
    assert_false(capacity_is_left(rig.capacity));
    clear(&rig);
}

static void forgets_the_oldest_beyond_the_limit(void **state)
{
    rig_t rig = make(100, 2);

    (void) state;
    add_gone(&rig, 2);
    assert_null(capacity_next_forgotten(rig.capacity));
    fake_add(rig.table, "new", FAKE_GONE, 500);
    fake_add(rig.table, "old", FAKE_GONE, 50);
    assert_string_equal(capacity_next_forgotten(rig.capacity)->id, "old");
    capacity_forget_gone(rig.capacity);
    assert_string_equal(fake_said(), "old FORGET; g0 FORGET");
    assert_int_equal(session_table_gone(rig.table), 2);
    capacity_forget_gone(rig.capacity);
    assert_string_equal(fake_said(), "");
    clear(&rig);
}

static void lets_no_more_than_a_quarter_be_gone(void **state)
{
    rig_t rig = make(16, 100);

    (void) state;
    add_gone(&rig, 4);
    assert_null(capacity_next_forgotten(rig.capacity));
    fake_add(rig.table, "g4", FAKE_GONE, 500);
    assert_string_equal(capacity_next_forgotten(rig.capacity)->id, "g0");
    clear(&rig);
}

/* A sixteenth, here one, is kept free ahead of time. */
static void keeps_a_sixteenth_free_ahead(void **state)
{
    rig_t rig = make(16, 4);

    (void) state;
    add_gone(&rig, 3);
    for (int i = 0; i < 12; i++) {
        char id[16];

        snprintf(id, sizeof id, "a%d", i);
        fake_add(rig.table, id, FAKE_TAKEN, 0);
    }
    assert_null(capacity_next_forgotten(rig.capacity));
    others = 1;
    capacity_forget_gone(rig.capacity);
    /* What was forgotten has its descriptors until its thread has ended. */
    assert_string_equal(fake_said(), "g0 FORGET; g1 FORGET; g2 FORGET");
    clear(&rig);
}

static void keeps_at_most_sixty_four_free_ahead(void **state)
{
    rig_t rig = make(4000, 1000);

    (void) state;
    add_gone(&rig, 10);
    others = 4000 - 64 - 10;
    assert_null(capacity_next_forgotten(rig.capacity));
    others++;
    assert_string_equal(capacity_next_forgotten(rig.capacity)->id, "g0");
    clear(&rig);
}

static void forgets_nothing_while_the_gateway_stops(void **state)
{
    rig_t rig = make(16, 0);

    (void) state;
    add_gone(&rig, 1);
    assert_non_null(capacity_next_forgotten(rig.capacity));
    session_table_close(rig.table);
    assert_null(capacity_next_forgotten(rig.capacity));
    clear(&rig);
}

static void skips_forgotten_sessions(void **state)
{
    rig_t rig = make(16, 0);

    (void) state;
    add_gone(&rig, 1);
    fake_add(rig.table, "alive", FAKE_TAKEN, 0);
    capacity_forget_gone(rig.capacity);
    assert_string_equal(fake_said(), "g0 FORGET");
    assert_null(capacity_next_forgotten(rig.capacity));
    clear(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(has_room_for_as_many_as_the_limit, fake_begin),
        cmocka_unit_test_setup(forgets_the_oldest_beyond_the_limit, fake_begin),
        cmocka_unit_test_setup(lets_no_more_than_a_quarter_be_gone, fake_begin),
        cmocka_unit_test_setup(keeps_a_sixteenth_free_ahead, fake_begin),
        cmocka_unit_test_setup(keeps_at_most_sixty_four_free_ahead, fake_begin),
        cmocka_unit_test_setup(forgets_nothing_while_the_gateway_stops,
                               fake_begin),
        cmocka_unit_test_setup(skips_forgotten_sessions, fake_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
