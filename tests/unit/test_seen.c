/* A session knows each id that it was sent, whatever they are, in few bytes. */
#include "protocol/msgid_set.h"

#include "tests/lib/test.h"

#include <stdio.h>

#define MANY 100000

static void name(size_t i, char id[40])
{
    snprintf(id, 40, "%zx_%zx_1", i * 7919, i);
}

static void knows_what_it_was_sent(void **state)
{
    cleanup_seen seen_t *seen = seen_new(SEEN_MAX);

    (void) state;
    assert_false(seen_has(seen, "a"));
    seen_add(seen, "a");
    assert_true(seen_has(seen, "a"));
    assert_false(seen_has(seen, "b"));
    assert_false(seen_has(seen, ""));
    seen_add(seen, "");
    assert_true(seen_has(seen, ""));
    seen_add(seen, "a");
    assert_int_equal(seen_count(seen), 2);
}

static void forgets_none_of_many(void **state)
{
    cleanup_seen seen_t *seen = seen_new(SEEN_MAX);
    char id[40];

    (void) state;
    for (size_t i = 0; i < MANY; i++) {
        name(i, id);
        assert_false(seen_has(seen, id));
        seen_add(seen, id);
        if (i > 100)
            assert_true(seen_bytes(seen) <= 19 * seen_count(seen));
    }
    assert_int_equal(seen_count(seen), MANY);
    for (size_t i = 0; i < MANY; i++) {
        name(i, id);
        assert_true(seen_has(seen, id));
    }
}

/* Of so many that came last it knows each, in a bounded memory. */
static void forgets_the_oldest_of_too_many(void **state)
{
    const size_t max = 7u << 8;
    cleanup_seen seen_t *seen = seen_new(max);
    char id[40];

    (void) state;
    for (size_t i = 0; i < 10 * max; i++) {
        name(i, id);
        seen_add(seen, id);
        assert_true(seen_bytes(seen) <= 2 * max / 7 * 8 * 8);
    }
    for (size_t i = 9 * max; i < 10 * max; i++) {
        name(i, id);
        assert_true(seen_has(seen, id));
    }
    assert_true(seen_count(seen) <= 2 * max);
    name(0, id);
    assert_false(seen_has(seen, id));
}

/* Nobody who knows this program can tell which ids fall together. */
static void has_a_key_of_its_own(void **state)
{
    cleanup_seen seen_t *one = seen_new(SEEN_MAX), *other = seen_new(SEEN_MAX);

    (void) state;
    assert_int_equal(seen_bytes(one), 0);
    seen_add(one, "a");
    assert_false(seen_has(other, "a"));
    assert_int_equal(seen_bytes(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_what_it_was_sent),
        cmocka_unit_test(forgets_none_of_many),
        cmocka_unit_test(forgets_the_oldest_of_too_many),
        cmocka_unit_test(has_a_key_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
