/* A session knows each id that it was sent, whatever they are, in few bytes. */
#include "protocol/msgid_set.h"

#include "tests/lib/test.h"

#include <stdio.h>

#define MANY 100000

static void name(size_t i, char id[40])
{
    snprintf(id, 40, "%zx_%zx_1", i * 7919, i);
}

static void finds_added_msg_ids(void **state)
{
    cleanup_msgid_set msgid_set_t *seen = msgid_set_new(MSGID_SET_MAX);

    (void) state;
    assert_false(msgid_set_has(seen, "a"));
    msgid_set_add(seen, "a");
    assert_true(msgid_set_has(seen, "a"));
    assert_false(msgid_set_has(seen, "b"));
    assert_false(msgid_set_has(seen, ""));
    msgid_set_add(seen, "");
    assert_true(msgid_set_has(seen, ""));
    msgid_set_add(seen, "a");
    assert_int_equal(msgid_set_count(seen), 2);
}

static void forgets_none_of_many(void **state)
{
    cleanup_msgid_set msgid_set_t *seen = msgid_set_new(MSGID_SET_MAX);
    char id[40];

    (void) state;
    for (size_t i = 0; i < MANY; i++) {
        name(i, id);
        assert_false(msgid_set_has(seen, id));
        msgid_set_add(seen, id);
        if (i > 100)
            assert_true(msgid_set_bytes(seen) <= 19 * msgid_set_count(seen));
    }
    assert_int_equal(msgid_set_count(seen), MANY);
    for (size_t i = 0; i < MANY; i++) {
        name(i, id);
        assert_true(msgid_set_has(seen, id));
    }
}

/* It knows all of the newest ids, in bounded memory. */
static void forgets_the_oldest_of_too_many(void **state)
{
    const size_t max = 7u << 8;
    cleanup_msgid_set msgid_set_t *seen = msgid_set_new(max);
    char id[40];

    (void) state;
    for (size_t i = 0; i < 10 * max; i++) {
        name(i, id);
        msgid_set_add(seen, id);
        assert_true(msgid_set_bytes(seen) <= 2 * max / 7 * 8 * 8);
    }
    for (size_t i = 9 * max; i < 10 * max; i++) {
        name(i, id);
        assert_true(msgid_set_has(seen, id));
    }
    assert_true(msgid_set_count(seen) <= 2 * max);
    name(0, id);
    assert_false(msgid_set_has(seen, id));
}

/* Knowing this program is not enough to predict collisions. */
static void has_a_key_of_its_own(void **state)
{
    cleanup_msgid_set msgid_set_t *one = msgid_set_new(MSGID_SET_MAX),
                                  *other = msgid_set_new(MSGID_SET_MAX);

    (void) state;
    assert_int_equal(msgid_set_bytes(one), 0);
    msgid_set_add(one, "a");
    assert_false(msgid_set_has(other, "a"));
    assert_int_equal(msgid_set_bytes(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_added_msg_ids),
        cmocka_unit_test(forgets_none_of_many),
        cmocka_unit_test(forgets_the_oldest_of_too_many),
        cmocka_unit_test(has_a_key_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
